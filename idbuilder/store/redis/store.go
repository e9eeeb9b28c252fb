// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

// schema is the version of the layout that this program writes.
const schema = 1

// Options configure a [Store]. The zero value is ready to use.
type Options struct {
	// Prefix begins the names of all keys. In a cluster it is put in braces if it
	// has none. The default value is idbuilder.
	Prefix string
	// Durable says that this Redis loses nothing that it has acknowledged: it
	// has appendonly yes and appendfsync always, and no failover. A restart then
	// needs no confirmation. Init returns an error if the server has other settings.
	Durable bool
	// WaitReplicas is how many replicas must have received a write before the call
	// returns; 0: none.
	WaitReplicas int
	// WaitTimeout is for how long to wait for them. The default value is 1 s.
	WaitTimeout time.Duration
}

// tagged is a prefix with braces, as a cluster needs it.
var tagged = regexp.MustCompile(`^[^{}]*\{[^{}]+\}[^{}]*$`)

// Validate reports all faults of the options.
func (o Options) Validate() error {
	var faults []error
	if strings.ContainsAny(o.Prefix, "{}") && !tagged.MatchString(o.Prefix) {
		faults = append(faults, fmt.Errorf("redis: the prefix %q: braces must stand around a part of it, once, as in {ids}", o.Prefix))
	}
	if err := store.CheckName(o.Prefix); o.Prefix != "" && err != nil {
		faults = append(faults, fmt.Errorf("redis: the prefix: %w", err))
	}
	if o.WaitReplicas < 0 || o.WaitTimeout < 0 {
		faults = append(faults, fmt.Errorf("redis: waiting for %d replicas for %v: neither may be negative", o.WaitReplicas, o.WaitTimeout))
	}
	if o.WaitTimeout%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("redis: waiting for %v: Redis counts whole milliseconds", o.WaitTimeout))
	}
	return errors.Join(faults...)
}

// Store is a [store.Store] in Redis.
type Store struct {
	client  goredis.UniversalClient
	prefix  string
	options Options

	closing context.Context
	close   context.CancelFunc

	mu     sync.Mutex
	floors map[string]int64 // the highest version seen of each sequence, see maxFloors
}

var _ store.Store = (*Store)(nil)

// New returns a store that uses client, which the caller closes, after the
// store. It does not talk to Redis. A Ring is refused: its servers do not know of
// each other.
func New(client goredis.UniversalClient, o Options) (*Store, error) {
	if client == nil {
		return nil, errors.New("redis: the client is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Prefix == "" {
		o.Prefix = "idbuilder"
	}
	if o.WaitTimeout == 0 {
		o.WaitTimeout = time.Second
	}
	s := &Store{client: client, prefix: o.Prefix, options: o, floors: map[string]int64{}}
	switch client.(type) {
	case *goredis.Ring:
		return nil, errors.New("redis: a Ring cannot keep sequences: use one server, Sentinel or a cluster")
	case *goredis.ClusterClient:
		if !tagged.MatchString(o.Prefix) {
			s.prefix = "{" + o.Prefix + "}"
		}
	}
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// key returns the name of a key.
func (s *Store) key(parts ...string) string {
	return s.prefix + ":" + strings.Join(parts, ":")
}

// guardedKeys returns keys, after those that all scripts check first.
func (s *Store) guardedKeys(keys ...string) []string {
	return append([]string{s.key("schema", "version"), s.key("server")}, keys...)
}

// Close implements [store.Store]. The client stays open.
func (s *Store) Close() error {
	s.close()
	return nil
}

// Ping implements [store.Store].
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.runWrite(ctx, "ping", pingScript, s.guardedKeys(s.key("ping")))
	return err
}

// Revision implements [store.Store].
func (s *Store) Revision(ctx context.Context) (int64, error) {
	reply, err := s.runRead(ctx, "revision", revisionScript, s.guardedKeys(s.key("revision")))
	if err != nil {
		return 0, err
	}
	return reply.int(0, s.key("revision"))
}

// Advance implements [store.Store].
func (s *Store) Advance(ctx context.Context) (int64, error) {
	reply, err := s.runWrite(ctx, "advance", advanceScript, s.guardedKeys(s.key("revision")))
	if err != nil {
		return 0, err
	}
	return reply.int(0, s.key("revision"))
}

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
// process makes the schema in this time.
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
		return nil, fmt.Errorf("the maxmemory-policy of the server is %q: it could drop sequences and then give their numbers again; set it to noeviction", policy)
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

// Confirm ends the refusal of [store.ErrLost]: after it, the server that answers gives
// numbers. It moves each sequence ahead by skip of its steps.
func (s *Store) Confirm(ctx context.Context, skip int64) error {
	if skip < 0 {
		return fmt.Errorf("redis: confirm: %d numbers to skip: there must be 0 or more", skip)
	}
	_, err := s.runWrite(ctx, "confirm", confirmScript, s.guardedKeys(s.key("version"), s.key("revision")), text(skip))
	return err
}
