// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/lease"
	goredis "github.com/redis/go-redis/v9"
)

// tx is a transaction: what it read and is to write.
type tx struct {
	store   *Store
	service string
	keys    []string
	now     time.Time
	life    string
	read    map[string][]byte // by key of the map; nil where there was none
	gets    int
	writes  []lease.Pair // a nil value deletes
}

// readServer reads the server's clock and identity.
func (t *tx) readServer(ctx context.Context) error {
	identity := 1
	if t.store.durable {
		identity = 0
	}
	reply, err := await(ctx, func(ctx context.Context) ([]any, error) {
		return beginScript.Run(ctx, t.store.client, t.keys, identity).Slice()
	})
	if err != nil {
		return wrapError("begin", err)
	}
	var seconds, micros int64
	if len(reply) != 3 {
		return fmt.Errorf("redis: begin: the reply has %d parts", len(reply))
	}
	if _, err := fmt.Sscan(fmt.Sprint(reply[0], " ", reply[1]), &seconds, &micros); err != nil {
		return fmt.Errorf("redis: begin: the time is %v: %w", reply[:2], err)
	}
	t.now = time.Unix(seconds, micros*1000)
	t.life = fmt.Sprint(reply[2])
	return nil
}

// Now implements [lease.Tx].
func (t *tx) Now() time.Time { return t.now }

// Incarnation implements [lease.Tx]: the run id of the server.
func (t *tx) Incarnation() string { return t.life }

// Get implements [lease.Tx].
func (t *tx) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	t.gets++
	fields := make([]string, len(keys))
	for i, key := range keys {
		fields[i] = string(key)
	}
	reply, err := await(ctx, func(ctx context.Context) ([]any, error) {
		return t.store.client.HMGet(ctx, t.keys[1], fields...).Result()
	})
	if err != nil {
		return nil, wrapError("get", err)
	}
	values := make([][]byte, len(keys))
	for i, field := range fields {
		if text, ok := reply[i].(string); ok {
			values[i] = []byte(text)
		}
		if _, again := t.read[field]; !again { // a second reading that differs fails at the commit
			t.read[field] = values[i]
		}
	}
	return values, nil
}

// Scan implements [lease.Tx].
func (t *tx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	reply, err := await(ctx, func(ctx context.Context) ([]string, error) {
		return scanScript.Run(ctx, t.store.client, t.keys, "["+string(begin), "("+string(end), limit).StringSlice()
	})
	if err != nil {
		return nil, wrapError("scan", err)
	}
	pairs := make([]lease.Pair, len(reply)/2)
	for i := range pairs {
		pairs[i] = lease.Pair{Key: []byte(reply[2*i]), Value: []byte(reply[2*i+1])}
	}
	return pairs, nil
}

// Set implements [lease.Tx].
func (t *tx) Set(key, value []byte) { t.writes = append(t.writes, lease.Pair{Key: key, Value: value}) }

// Delete implements [lease.Tx].
func (t *tx) Delete(key []byte) { t.writes = append(t.writes, lease.Pair{Key: key}) }

// commit writes, if all that was read is still so; it reports whether.
func (t *tx) commit(ctx context.Context) (bool, error) {
	if len(t.writes) == 0 && t.gets <= 1 {
		return true, nil
	}
	args := []any{t.life, len(t.read)}
	for key, value := range t.read {
		args = append(args, key, flagOf(value), value)
	}
	for _, w := range t.writes {
		args = append(args, w.Key, flagOf(w.Value), w.Value)
	}
	if err := t.store.register(ctx, t.service, len(t.writes) > 0); err != nil {
		return false, err
	}
	done, err := await(ctx, func(ctx context.Context) (int, error) {
		return commitScript.Run(ctx, t.store.client, t.keys, args...).Int()
	})
	if err != nil {
		return false, wrapError("commit", err)
	}
	return done == 1, nil
}

// flagOf tells a script whether there is a value: "1", or "0" if there is none.
func flagOf(value []byte) string {
	if value == nil {
		return "0"
	}
	return "1"
}

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
// something read has changed, or another server has taken over, which may lack what
// the one before acknowledged: the transaction is to see that.
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
