// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// runRead runs a script that changes nothing.
func (s *Store) runRead(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) (reply, error) {
	return s.call(ctx, what, func(ctx context.Context) (any, error) {
		return script.Run(ctx, s.client, keys, s.scriptArgs(args)...).Result()
	})
}

// runWrite runs a script that writes, and waits for replicas as the options say.
func (s *Store) runWrite(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) (reply, error) {
	if s.options.WaitReplicas == 0 {
		return s.runRead(ctx, what, script, keys, args...)
	}
	return s.call(ctx, what, func(ctx context.Context) (any, error) {
		node, err := s.nodeOf(ctx, keys[0])
		if err != nil {
			return nil, err
		}
		conn := node.Conn() // WAIT is about the writes of its own connection
		defer func() { _ = conn.Close() }()
		result, err := script.Run(ctx, conn, keys, s.scriptArgs(args)...).Result()
		if r, fault := replyOf(result, err); fault != nil || r.status != "ok" { // nothing was written
			return result, s.refreshSlots(ctx, err)
		}
		have, err := conn.Wait(ctx, s.options.WaitReplicas, s.options.WaitTimeout).Result()
		if err == nil && have < int64(s.options.WaitReplicas) {
			err = fmt.Errorf("%d of %d replicas have received the write after %v; whether it lasts is unknown", have, s.options.WaitReplicas, s.options.WaitTimeout)
		}
		return result, err
	})
}

// nodeOf returns the client of the server that has a key.
func (s *Store) nodeOf(ctx context.Context, key string) (*goredis.Client, error) {
	switch client := s.client.(type) {
	case *goredis.Client:
		return client, nil
	case *goredis.ClusterClient:
		return client.MasterForKey(ctx, key)
	}
	return nil, fmt.Errorf("a client of the type %T cannot wait for replicas", s.client)
}

// refreshSlots makes a client of a cluster read the places of slots again.
func (s *Store) refreshSlots(ctx context.Context, err error) error {
	if cluster, ok := s.client.(*goredis.ClusterClient); ok && goredis.HasErrorPrefix(err, "MOVED") {
		cluster.ReloadState(ctx)
	}
	return err
}

// scriptArgs returns args, after those that all scripts get.
func (s *Store) scriptArgs(args []any) []any {
	durable := "0"
	if s.options.Durable {
		durable = "1"
	}
	return append([]any{strconv.Itoa(schema), durable}, args...)
}

// call runs a command until it, the context or the store ends. The client itself may go
// on until its own timeouts.
func (s *Store) call(ctx context.Context, what string, run func(context.Context) (any, error)) (reply, error) {
	if s.closing.Err() != nil {
		return reply{}, store.ErrClosed
	}
	if ctx.Err() != nil {
		return reply{}, fmt.Errorf("redis: %s: %w", what, context.Cause(ctx))
	}
	type outcome struct {
		result any
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		result, err := run(ctx)
		ended <- outcome{result, err}
	}()
	select {
	case o := <-ended:
		r, err := replyOf(o.result, o.err)
		if err != nil {
			return r, fmt.Errorf("redis: %s: %w", what, err)
		}
		return r, nil
	case <-s.closing.Done():
		return reply{}, fmt.Errorf("redis: %s: its outcome is unknown: %w", what, store.ErrClosed)
	case <-ctx.Done():
		return reply{}, fmt.Errorf("redis: %s: its outcome is unknown: %w", what, context.Cause(ctx))
	}
}

// reply has the texts that a script returns after its status.
type reply struct {
	status string
	texts  []string
}

// int returns a part that is a number.
func (r reply) int(i int, where string) (int64, error) {
	if i >= len(r.texts) {
		return 0, corrupt(where, fmt.Errorf("the script returned %d parts", len(r.texts)))
	}
	n, err := strconv.ParseInt(r.texts[i], 10, 64)
	if err != nil {
		return 0, corrupt(where, err)
	}
	return n, nil
}

func corrupt(where string, err error) error {
	return &store.CorruptError{
		Where:  "key " + where,
		Reason: "the program did not write this: restore it from a backup",
		Err:    err,
	}
}

// replyOf returns the reply of a script, or an error for the state that the script reports.
func replyOf(result any, err error) (r reply, _ error) {
	switch {
	case err != nil && (goredis.HasErrorPrefix(err, "READONLY") || goredis.HasErrorPrefix(err, "MISCONF")):
		return r, fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case errors.Is(err, goredis.ErrClosed):
		return r, fmt.Errorf("%w: %w", store.ErrClosed, err)
	case err != nil:
		return r, err
	}
	parts, _ := result.([]any)
	for _, part := range parts {
		text, ok := part.(string)
		if !ok {
			return r, fmt.Errorf("a script returned %T, want texts", part)
		}
		r.texts = append(r.texts, text)
	}
	if len(r.texts) == 0 {
		return r, fmt.Errorf("a script returned %v, want a list of texts", result)
	}
	r.status, r.texts = r.texts[0], r.texts[1:]
	return r, r.stateError()
}

// stateError returns the error of a state that no call expects.
func (r reply) stateError() error {
	switch r.status {
	case "readonly":
		return fmt.Errorf("%w: the server is a replica", store.ErrReadOnly)
	case "lost":
		return store.ErrLost
	case "noschema":
		return store.ErrNoSchema
	case "conflict":
		return store.ErrConflict
	case "schema":
		version, err := r.int(0, "schema:version")
		if err != nil || version <= schema {
			return corrupt("schema:version", fmt.Errorf("it is %q", r.texts))
		}
		return store.NewerSchema(int(version), schema)
	}
	return nil
}

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
// a store without its schema is left alone: {'lostschema'}.
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
