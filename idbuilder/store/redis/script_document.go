// SPDX-License-Identifier: Apache-2.0

package redis

// Scripts of one document get its value as KEYS[3], its hash as KEYS[4], the
// sorted sets of its kind and of what expires as KEYS[5] and KEYS[6], and the
// counter of versions as KEYS[7]; its key as ARGV[3] and 'kind:key' as ARGV[4].

// erase removes a document by its 'kind:key'. The names of keys that it makes are in the
// slot of the prefix.
const erase = `
local function erase(prefix, member)
  local kind, key = string.match(member, '^(%l+):(.*)$')
  local value = prefix .. ':doc:' .. member
  if kind == 'config' then value = prefix .. ':cfg:' .. key end
  redis.call('DEL', value, prefix .. ':docmeta:' .. member)
  redis.call('ZREM', prefix .. ':docs:' .. kind, key)
  redis.call('ZREM', KEYS[6], member)
end

-- torn tells that value and hash are not both there, or both not.
local function torn(version) return (redis.call('EXISTS', KEYS[3]) == 1) ~= (version and true or false) end
`

// putScript stores a document if its version is ARGV[5] ('0': there is none), or
// if it has the mark ARGV[6]: then the same call was sent before and has stored it
// already: {'ok', version}. ARGV[7] is its type, ARGV[8] when it expires, in
// milliseconds, or ”, ARGV[9] the prefix of all keys, ARGV[10] the value. It removes a few
// documents that expired a minute ago.
var putScript = writeScript(erase + `
local d = redis.call('HMGET', KEYS[4], 'version', 'mark', 'created')
if torn(d[1]) then return {'torn'} end
if d[2] == ARGV[6] then return {'ok', d[1]} end
if (d[1] or '0') ~= ARGV[5] then return {'conflict'} end
redis.call('INCR', KEYS[7])
local version, time = redis.call('GET', KEYS[7]), now()
redis.call('SET', KEYS[3], ARGV[10])
redis.call('HSET', KEYS[4], 'version', version, 'mark', ARGV[6], 'type', ARGV[7], 'created', d[3] or time, 'updated', time, 'expires', ARGV[8])
redis.call('ZADD', KEYS[5], 0, ARGV[3])
if ARGV[8] == '' then
  redis.call('ZREM', KEYS[6], ARGV[4])
else
  redis.call('ZADD', KEYS[6], ARGV[8], ARGV[4])
  local past = string.format('%.0f', tonumber(time) / 1000 - 60000)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', past, 'LIMIT', 0, 8)) do
    erase(ARGV[9], member)
  end
end
return {'ok', version}
`)

// deleteScript removes a document if its version is ARGV[5]. ARGV[6] is the prefix
// of all keys.
var deleteScript = writeScript(erase + `
local version = redis.call('HGET', KEYS[4], 'version')
if torn(version) then return {'torn'} end
if not version then return {'ok'} end
if version ~= ARGV[5] then return {'conflict'} end
erase(ARGV[6], ARGV[4])
return {'ok'}
`)

// fields of a document's hash, in the order in which scripts return them.
const fields = `'version', 'type', 'created', 'updated', 'expires'`

// getScript returns a document: {'ok', key, value, version, type, created,
// updated, expires}, or {'ok'} if there is none.
var getScript = readScript(erase + `
local d = redis.call('HMGET', KEYS[4], ` + fields + `)
if torn(d[1]) then return {'torn'} end
if not d[1] then return {'ok'} end
return {'ok', ARGV[3], redis.call('GET', KEYS[3]), d[1], d[2] or '', d[3] or '', d[4] or '', d[5] or ''}
`)

// listScript returns documents as getScript does, one behind the other: those
// whose keys are from ARGV[3] to ARGV[4] in the sorted set KEYS[3], at most ARGV[5].
// ARGV[6] and ARGV[7] begin the names of values and hashes.
var listScript = readScript(`
local list = {'ok'}
for _, key in ipairs(redis.call('ZRANGEBYLEX', KEYS[3], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])) do
  local value, d = redis.call('GET', ARGV[6] .. key), redis.call('HMGET', ARGV[7] .. key, ` + fields + `)
  if not value or not d[1] then return {'torn', key} end
  for _, text in ipairs({key, value, d[1], d[2] or '', d[3] or '', d[4] or '', d[5] or ''}) do list[#list + 1] = text end
end
return list
`)
