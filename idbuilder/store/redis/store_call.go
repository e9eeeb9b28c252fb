// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
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
