// SPDX-License-Identifier: Apache-2.0

package redis

// Scripts of sequences get the value as KEYS[3] and the hash as KEYS[4].

// state returns the raw state of a sequence, ” for what is missing: value,
// version, step, epoch, skipped and mark, then epoch and skipped of the server.
const state = `
local function state(status)
  local q = redis.call('HMGET', KEYS[4], 'version', 'step', 'epoch', 'skipped', 'mark')
  local server = redis.call('HMGET', KEYS[2], 'epoch', 'skipped')
  return {status, redis.call('GET', KEYS[3]) or '', q[1] or '', q[2] or '', q[3] or '', q[4] or '', q[5] or '', server[1] or '', server[2] or ''}
end
`

var sequenceScript = readScript(state + `return state('ok')`)

// reserveScript adds ARGV[3], which is the step ARGV[4] times the count, to a
// sequence: {'ok', value, version}. ARGV[5] is the last value from which that
// stays within the bound, ” if there is none. ARGV[6] is a version that the client has
// seen, '0' if it has seen none, and ARGV[7] the epoch of that version: if the sequence has
// gone back in the same epoch, this Redis has lost data, unless ARGV[8] is '1': then the sequence
// may have been removed, and only this call is refused. In all other cases the script returns the
// state to the client: {'state', …}.
var reserveScript = writeScript(state + `
local value, epoch = redis.call('GET', KEYS[3]), redis.call('HGET', KEYS[2], 'epoch')
local q = redis.call('HMGET', KEYS[4], 'version', 'step', 'epoch')
local lost = ARGV[7] == epoch and ARGV[6] ~= '0'
if q[1] then lost = q[3] == epoch and (not value or less(q[1], ARGV[6])) end
if lost then
  if ARGV[8] ~= '1' then redis.call('HSET', KEYS[2], 'identity', 'lost') end
  return {'lost'}
end
if not value or not q[1] or q[3] ~= epoch or ARGV[5] == '' or not (value == '0' or string.match(value, '^-?[1-9]%d*$')) then
  return state('state')
end
local beyond = less(ARGV[5], value) or less(value, '-9223372036854775808')
if string.sub(ARGV[4], 1, 1) == '-' then beyond = less(value, ARGV[5]) or less('9223372036854775807', value) end
if beyond then return state('state') end
redis.call('INCRBY', KEYS[3], ARGV[3])
redis.call('HINCRBY', KEYS[4], 'version', 1)
if q[2] ~= ARGV[4] then redis.call('HSET', KEYS[4], 'step', ARGV[4]) end
return {'ok', redis.call('GET', KEYS[3]), redis.call('HGET', KEYS[4], 'version')}
`)

// replaceScript sets a sequence, if value and version are still ARGV[3] and
// ARGV[4], and the server's epoch ARGV[5]: to the value ARGV[6], the version ARGV[7], the
// step ARGV[8] if it is not ”, and the mark ARGV[9]. Otherwise it returns {'changed'}.
var replaceScript = writeScript(`
local server = redis.call('HMGET', KEYS[2], 'epoch', 'skipped')
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[3] or (redis.call('HGET', KEYS[4], 'version') or '') ~= ARGV[4] or (server[1] or '') ~= ARGV[5] then
  return {'changed'}
end
redis.call('SET', KEYS[3], ARGV[6])
redis.call('HSET', KEYS[4], 'version', ARGV[7], 'epoch', server[1], 'skipped', server[2], 'mark', ARGV[9])
if ARGV[8] ~= '' then redis.call('HSET', KEYS[4], 'step', ARGV[8]) end
return {'ok'}
`)

// deleteSequenceScript removes a sequence: {'ok', how many of its keys there were}.
var deleteSequenceScript = writeScript(`return {'ok', tostring(redis.call('DEL', KEYS[3], KEYS[4]))}`)
