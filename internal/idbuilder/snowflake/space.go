// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// space has the worker ids of a key in one layout.
type space struct {
	key     string
	layout  Layout
	version int64
	prefix  string // of its documents

	mu   sync.Mutex
	next int               // the shard to try first
	full map[int]fullShard // by shard
}

// fullShard is a shard that was found full.
type fullShard struct {
	seen time.Time
	free time.Time // when its first lease ends
}

// fullFor is how long a full shard is not tried again.
const fullFor = 5 * time.Second

func newSpace(key Key) *space {
	return &space{
		key: key.Name, layout: key.Layout, version: key.Version, prefix: prefixOf(key.Name, key.Layout),
		next: rand.IntN(key.Layout.shards()), full: map[int]fullShard{},
	}
}

// prefixOf returns what the names of the documents of a key in a layout begin with.
func prefixOf(name string, l Layout) string { return keyID(name) + "." + l.hash() + "-" }

// serviceOf returns the name of a shard in package lease, and of its document.
func (s *space) serviceOf(shard int) string { return fmt.Sprintf("%s%d", s.prefix, shard) }

func (s *space) hasWorker(worker int64) bool { return worker < 1<<s.layout.WorkerIDSize }

func (s *space) shardOf(worker int64) int { return int(worker >> s.layout.shardWidth()) }

// checkTime reports whether IDs can carry a time.
func (s *space) checkTime(now time.Time) error {
	switch ms := now.UnixMilli(); {
	case ms < s.layout.BaseTS:
		return fmt.Errorf("snowflake: the base_ts of key %q, %d, is ahead of this worker's clock, %d", s.key, s.layout.BaseTS, ms)
	case ms >= s.layout.endOfTime():
		return &ExhaustedError{Key: s.key}
	}
	return nil
}

// grantOf returns the grant for a lease.
func (s *space) grantOf(l idgen.Lease, shard int, duration time.Duration) Grant {
	k := leaseKey{worker: int64(shard)<<s.layout.shardWidth() | l.ID, created: l.Created, secret: l.Secret}
	return Grant{
		WorkerID: k.worker, LeaseKey: k.String(), Duration: duration,
		NotBefore: time.UnixMilli(l.Created), Expires: time.UnixMilli(min(l.Expired, s.layout.endOfTime())),
	}
}

// acquireAny leases a worker id of any shard. Shards take turns, so that worker ids are given
// again as late as possible.
func (s *space) acquireAny(ctx context.Context, server *lease.Server, meta map[string]string) (idgen.Lease, int, error) {
	for range s.layout.shards() {
		shard, ok := s.nextShard()
		if !ok {
			break
		}
		leases, err := server.Acquire(ctx, idgen.AcquireRequest{ServiceID: s.serviceOf(shard), Meta: meta})
		if err == nil {
			return leases[0], shard, nil
		}
		if !errors.Is(err, lease.ErrExhausted) {
			return idgen.Lease{}, 0, fmt.Errorf("snowflake: key %q: %w", s.key, err)
		}
		if err := s.noteFull(ctx, server, shard); err != nil {
			return idgen.Lease{}, 0, err
		}
	}
	return idgen.Lease{}, 0, &ExhaustedError{Key: s.key, Workers: 1 << s.layout.WorkerIDSize, Free: s.firstFree()}
}

// nextShard returns the next shard that is not known to be full.
func (s *space) nextShard() (shard int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.layout.shards()
	for range n {
		shard, s.next = s.next, (s.next+1)%n
		f, full := s.full[shard]
		if !full || time.Since(f.seen) >= fullFor {
			delete(s.full, shard)
			return shard, true
		}
	}
	return 0, false
}

// noteFull records that no worker id of a shard is free, and when one will be.
func (s *space) noteFull(ctx context.Context, server *lease.Server, shard int) error {
	page, err := server.List(ctx, s.serviceOf(shard), lease.ListOptions{Ended: true})
	if err != nil && page.UnreadBlocks(err) == nil { // what cannot be read is not leased again
		return fmt.Errorf("snowflake: key %q: %w", s.key, err)
	}
	f := fullShard{seen: time.Now()}
	for _, l := range page.Leases {
		free := l.Expired
		if l.LastTs != nil {
			free = l.LastTs.Add(time.Millisecond)
		}
		if f.free.IsZero() || free.Before(f.free) {
			f.free = free
		}
	}
	if s.layout.shards() == 1 {
		f.seen = time.Time{} // one document is read each time
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full[shard] = f
	return nil
}

// firstFree returns when the first worker id of the full shards becomes free.
func (s *space) firstFree() (first time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.full {
		if first.IsZero() || f.free.Before(first) {
			first = f.free
		}
	}
	return first
}
