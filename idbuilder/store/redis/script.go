// SPDX-License-Identifier: Apache-2.0

package redis

import goredis "github.com/redis/go-redis/v9"

// All scripts get the key of the schema's version as KEYS[1] and the hash of the
// server as KEYS[2]; the version that this program knows as ARGV[1], and '1' as
// ARGV[2] if the Redis is durable. They return a list of texts that begins with
// 'ok' or with the state that prevents the call.

// library has functions for all scripts.
const library = `
local function info(text, name) return string.match(text, '\n' .. name .. ':([^\r\n]*)') end

-- identity tells the server that this script runs on, in this reign of it.
local function identity(replication)
  return info(redis.call('INFO', 'server'), 'run_id') .. '/' .. info(replication, 'master_replid')
end

-- schema returns what is wrong with the schema, or nil.
local function schema()
  local version = redis.call('GET', KEYS[1])
  if not version then return {'noschema'} end
  if version ~= ARGV[1] then return {'schema', version} end
end

-- guard returns why nothing may be written, or nil.
local function guard()
  local replication = redis.call('INFO', 'replication')
  if info(replication, 'role') ~= 'master' then return {'readonly'} end
  local wrong = schema()
  if wrong then return wrong end
  local known = redis.call('HGET', KEYS[2], 'identity')
  if not known or known == 'lost' or (ARGV[2] ~= '1' and known ~= identity(replication)) then return {'lost'} end
end

-- less compares whole numbers in decimal.
local function less(a, b)
  local below, other = string.sub(a, 1, 1) == '-', string.sub(b, 1, 1) == '-'
  if below ~= other then return below end
  if below then a, b = string.sub(b, 2), string.sub(a, 2) end
  if #a ~= #b then return #a < #b end
  return a < b
end

-- now returns the server's time in microseconds, as text.
local function now()
  local time = redis.call('TIME')
  return time[1] .. string.rep('0', 6 - #time[2]) .. time[2]
end
`

// writeScript returns a script that writes.
func writeScript(body string) *goredis.Script {
	return goredis.NewScript(library + "local wrong = guard()\nif wrong then return wrong end\n" + body)
}

// readScript returns a script that reads.
func readScript(body string) *goredis.Script {
	return goredis.NewScript(library + "local wrong = schema()\nif wrong then return wrong end\n" + body)
}

var (
	pingScript     = writeScript(`redis.call('SET', KEYS[3], now()) return {'ok'}`)
	revisionScript = readScript(`return {'ok', redis.call('GET', KEYS[3]) or '0'}`)
	advanceScript  = writeScript(`redis.call('INCR', KEYS[3]) return {'ok', redis.call('GET', KEYS[3])}`)
)

// initScript makes the schema, if there is none and ARGV[3] is '1': {'ok'}. Data of
// a store whose schema is missing is left alone: {'lostschema'}.
var initScript = goredis.NewScript(library + `
local replication = redis.call('INFO', 'replication')
if redis.call('EXISTS', KEYS[1]) == 0 and ARGV[3] == '1' then
  if info(replication, 'role') ~= 'master' then return {'readonly'} end
  if redis.call('EXISTS', KEYS[2]) == 1 then return {'lostschema'} end
  redis.call('HSET', KEYS[2], 'identity', identity(replication), 'epoch', '0', 'skipped', '0')
  redis.call('SET', KEYS[1], ARGV[1])
end
if info(replication, 'role') ~= 'master' then return schema() or {'ok'} end
return guard() or {'ok'}
`)

// confirmScript makes this server the one that gives numbers: ARGV[3] more are
// skipped of each sequence. Counters jump beyond the values that may have been lost: by 2^32,
// and to at least 4096 for each millisecond since 2024. So they also pass the values that they
// had after a confirmation that was itself lost.
var confirmScript = goredis.NewScript(library + `
local replication = redis.call('INFO', 'replication')
if info(replication, 'role') ~= 'master' then return {'readonly'} end
local wrong = schema()
if wrong then return wrong end
redis.call('HINCRBY', KEYS[2], 'skipped', ARGV[3])
redis.call('HINCRBY', KEYS[2], 'epoch', 1)
redis.call('HSET', KEYS[2], 'identity', identity(replication))
local time = redis.call('TIME')
local least = string.format('%.0f', ((time[1] - 1704067200) * 1000 + math.floor(time[2] / 1000)) * 4096)
for _, key in ipairs({KEYS[3], KEYS[4]}) do
  redis.call('INCRBY', key, '4294967296')
  if less(redis.call('GET', key), least) then redis.call('SET', key, least) end
end
return {'ok'}
`)

// lockScript takes a lock, KEYS[1], for ARGV[1], for so many milliseconds as
// ARGV[2] says, unless another owner has it: {'taken'}.
var lockScript = goredis.NewScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return {'taken'} end
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {'ok'}
`)

// unlockScript gives a lock back, KEYS[1], if ARGV[1] still has it.
var unlockScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {'ok'}
`)
