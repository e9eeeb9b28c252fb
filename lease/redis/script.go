// SPDX-License-Identifier: Apache-2.0

package redis

import goredis "github.com/redis/go-redis/v9"

// All scripts get the sorted set of keys as KEYS[1] and the hash of values as
// KEYS[2].

// runID is the run id of the server that a script runs on, in Lua.
const runID = `string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')`

// beginScript returns the server's time in seconds and microseconds, and its run
// id if ARGV[1] is 1. Should Redis have evicted one of the two keys: an index
// without values is nothing; one that is missing is made again.
var beginScript = goredis.NewScript(`
local index, values = redis.call('EXISTS', KEYS[1]), redis.call('EXISTS', KEYS[2])
if index == 1 and values == 0 then
  redis.call('DEL', KEYS[1])
elseif index == 0 and values == 1 then
  for _, key in ipairs(redis.call('HKEYS', KEYS[2])) do
    redis.call('ZADD', KEYS[1], 0, key)
  end
end
local time = redis.call('TIME')
local life = ''
if ARGV[1] == '1' then
  life = ` + runID + `
  if not life then
    return redis.error_reply('ERR INFO tells no run_id; permit it, or set Options.Durable')
  end
end
return {time[1], time[2], life}
`)

// scanScript returns keys and values in turn: those from ARGV[1] to ARGV[2], at
// most ARGV[3] of them.
var scanScript = goredis.NewScript(`
local pairs = {}
for _, key in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])) do
  local value = redis.call('HGET', KEYS[2], key)
  if value then
    pairs[#pairs + 1] = key
    pairs[#pairs + 1] = value
  end
end
return pairs
`)

// commitScript compares and writes. ARGV[1] is the run id that beginScript told,
// ARGV[2] the number of reads; they and the writes follow, three arguments each:
// key, whether there is a value, value. It returns 0, and writes nothing, if
// something read is no longer so, or another server has taken over, which may
// lack what the one before acknowledged: the transaction is to see that.
var commitScript = goredis.NewScript(`
if ARGV[1] ~= '' and ARGV[1] ~= ` + runID + ` then return 0 end
local last = 2 + 3 * tonumber(ARGV[2])
for i = 3, last, 3 do
  local value = redis.call('HGET', KEYS[2], ARGV[i])
  if ARGV[i + 1] == '1' then
    if value ~= ARGV[i + 2] then return 0 end
  elseif value then
    return 0
  end
end
for i = last + 1, #ARGV, 3 do
  if ARGV[i + 1] == '1' then
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 2])
    redis.call('ZADD', KEYS[1], 0, ARGV[i])
  else
    redis.call('HDEL', KEYS[2], ARGV[i])
    redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return 1
`)
