// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
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

var (
	_ store.Store     = (*Store)(nil)
	_ store.Confirmer = (*Store)(nil)
)

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
