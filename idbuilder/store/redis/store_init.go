// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

const (
	lockTime = 10 * time.Second      // of the lock, should its owner die
	lockPoll = 20 * time.Millisecond // between two attempts to get it
)

// Init implements [store.Store]. It refuses a Redis that may evict keys, and one that is
// not durable although the options say so.
func (s *Store) Init(ctx context.Context) error {
	if _, err := s.call(ctx, "init", s.checkServer); err != nil {
		return err
	}
	if err := s.checkSchema(ctx, "0"); !errors.Is(err, store.ErrNoSchema) {
		return err
	}
	return s.underLock(ctx, func() error { return s.checkSchema(ctx, "1") })
}

// checkSchema checks the schema, and makes it if create is "1".
func (s *Store) checkSchema(ctx context.Context, create string) error {
	got, err := s.runRead(ctx, "init", initScript, s.guardedKeys(), create)
	if err == nil && got.status == "lostschema" {
		return &store.CorruptError{Where: "key " + s.key("schema", "version"), Reason: "the key is missing, though " + s.key("server") +
			" exists: if the data is of this version of the program, set it to " + text(schema) + " and confirm the store; otherwise restore it from a backup"}
	}
	return err
}

// underLock runs fn while the process has the lock of the schema, unless another
// process makes the schema meanwhile.
func (s *Store) underLock(ctx context.Context, fn func() error) error {
	owner, key := rand.Text(), s.key("lock", "schema")
	for {
		got, err := s.call(ctx, "lock", func(ctx context.Context) (any, error) {
			return lockScript.Run(ctx, s.client, []string{key}, owner, lockTime.Milliseconds()).Result()
		})
		if err != nil {
			return err
		}
		if got.status == "ok" {
			return errors.Join(fn(), s.unlock(ctx, key, owner))
		}
		if err := sleep.For(ctx, lockPoll); err != nil {
			return fmt.Errorf("redis: waiting for %s: %w", key, err)
		}
		if err := s.checkSchema(ctx, "0"); !errors.Is(err, store.ErrNoSchema) {
			return err
		}
	}
}

func (s *Store) unlock(ctx context.Context, key, owner string) error {
	_, err := s.call(ctx, "unlock", func(ctx context.Context) (any, error) {
		return unlockScript.Run(ctx, s.client, []string{key}, owner).Result()
	})
	return err
}

// checkServer refuses settings under which numbers could be lost.
func (s *Store) checkServer(ctx context.Context) (any, error) {
	node, err := s.keyOwner(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := node.Info(ctx, "memory").Result()
	if err != nil {
		return nil, err
	}
	if policy := setting(memory, "maxmemory_policy"); policy != "noeviction" {
		return nil, fmt.Errorf("the maxmemory-policy of the server is %q: it could drop sequences, whose numbers would then be given again; set it to noeviction", policy)
	}
	if s.options.Durable {
		err = checkDurable(ctx, node)
	}
	return []any{"ok"}, err
}

// keyOwner returns a client of the server that has the keys.
func (s *Store) keyOwner(ctx context.Context) (goredis.Cmdable, error) {
	if cluster, ok := s.client.(*goredis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, s.key("server"))
	}
	return s.client, nil
}

// checkDurable refuses a server that acknowledges before it syncs. If CONFIG is not
// permitted, it trusts the operator about appendfsync.
func checkDurable(ctx context.Context, node goredis.Cmdable) error {
	persistence, err := node.Info(ctx, "persistence").Result()
	if err != nil {
		return err
	}
	if setting(persistence, "aof_enabled") != "1" {
		return errors.New("the options say that Redis is durable, but the server has appendonly no: set it to yes, or do not set durable")
	}
	config, err := node.ConfigGet(ctx, "appendfsync").Result()
	if how := config["appendfsync"]; err == nil && how != "always" {
		return fmt.Errorf("the options say that Redis is durable, but the server has appendfsync %s: set it to always, or do not set durable", how)
	}
	return nil
}

// setting returns a field of the answer to INFO.
func setting(info, name string) string {
	found := regexp.MustCompile(`(?m)^` + name + `:([^\r\n]*)`).FindStringSubmatch(info)
	if found == nil {
		return ""
	}
	return found[1]
}

// Confirm implements [store.Confirmer]: from now on, the server that answers gives
// numbers.
func (s *Store) Confirm(ctx context.Context, skip int64) error {
	if skip < 0 {
		return fmt.Errorf("redis: confirm: %d numbers to skip: there must be 0 or more", skip)
	}
	_, err := s.runWrite(ctx, "confirm", confirmScript, s.guardedKeys(s.key("version"), s.key("revision")), text(skip))
	return err
}
