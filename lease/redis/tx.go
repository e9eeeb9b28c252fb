// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/lease"
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

// Incarnation implements [lease.IncarnationTx]: the run id of the server.
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
