// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// ofType returns a key of a type: a [*api.Error] if there is none. Outage reports that the
// configuration may have changed since the store ceased to answer. A worker id is leased by the
// store alone, so that a snowflake key needs a store that answers.
func (k *keys) ofType(ctx context.Context, key string, t idconfig.Type) (e *keyEntry, s *keyState, outage bool, err error) {
	if t == idconfig.TypeSnowflake {
		e, s, err = k.currentKey(ctx, key)
	} else {
		e, s, outage, err = k.lastKey(ctx, key)
	}
	if err != nil {
		return nil, nil, false, err
	}
	if s.config.Type != t {
		return nil, nil, false, api.Errorf(api.Invalid, "key: %q makes %s IDs; ask /v1/id/%s", key, s.config.Type, s.config.Type)
	}
	return e, s, outage, nil
}

// currentKey returns a key at the present revision: from memory, unless the entry there
// is too old.
func (k *keys) currentKey(ctx context.Context, key string) (*keyEntry, *keyState, error) {
	current, err := k.watch.Current(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e, s := k.entryAt(key, current); s != nil && k.isFresh(s, current) {
		return e, s, nil
	}
	return k.awaitRead(ctx, key, current)
}

// lastKey is currentKey while the store answers. While it does not, lastKey returns keys that are
// in memory, for [Options.Outage].
func (k *keys) lastKey(ctx context.Context, key string) (e *keyEntry, s *keyState, outage bool, err error) {
	at, err := k.watch.Last(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	e, s = k.entryAt(key, at.Revision)
	switch {
	case s == nil:
		e, s, err = k.currentKey(ctx, key)
		return e, s, false, err
	case at.Outage != nil:
		return e, s, true, nil
	case k.isFresh(s, at.Revision):
		return e, s, false, nil
	}
	inTime, cancel := context.WithTimeout(ctx, k.watch.Options().Validity)
	defer cancel()
	newer, read, err := k.awaitRead(inTime, key, at.Revision)
	var refusal *api.Error
	if revision.IsOutage(err) && !errors.As(err, &refusal) && ctx.Err() == nil && time.Since(s.read) < maxAge+k.watch.Options().Outage {
		return e, s, true, nil
	}
	return newer, read, false, err
}

// isFresh reports whether a key need not be read again. Before that is due, it starts a read.
func (k *keys) isFresh(s *keyState, current int64) bool {
	age := time.Since(s.read)
	if age >= maxAge/2 {
		k.startRead(s.config.Key, current)
	}
	return age < maxAge
}

// readConfig reads a configuration that was not deleted.
func (k *keys) readConfig(ctx context.Context, key string) (*idconfig.Config, error) {
	d, err := k.store.Get(ctx, store.Configs, key)
	if err == nil {
		var c *idconfig.Config
		if c, err = idconfig.Decode(d); err == nil && !c.Deleted {
			return c, nil
		}
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return nil, noConfig(key)
	}
	return nil, fmt.Errorf("idbuilder: configuration %q: %w", key, err)
}

// newState returns the state of a configuration. It takes over the sequences of old if that has
// the same version.
func (k *keys) newState(c *idconfig.Config, old *keyState) (s *keyState, err error) {
	if old != nil && old.config.Version == c.Version {
		return &keyState{config: old.config, counters: old.counters, sequence: old.sequence}, nil
	}
	s = &keyState{config: c}
	switch c.Type {
	case idconfig.TypeIncrement:
		i := c.Increment
		spec := sequence.Spec{Start: i.Base, Step: i.Delta, Bound: i.Bound(), Epoch: i.Epoch}
		if s.sequence, err = k.pool.Sequence(c.Key, spec); errors.Is(err, sequence.ErrDirection) {
			k.pool.Drop(c.Key) // a forced change has turned it
			s.sequence, err = k.pool.Sequence(c.Key, spec)
		}
	case idconfig.TypeFormatted:
		for _, f := range c.Formatted.Format.Counters() {
			s.counters = append(s.counters, counter{f, new(atomic.Pointer[periodSequence])})
		}
	}
	return s, err
}

// sequenceOf returns the sequence of the i-th counter of a formatted key at a time.
func (k *keys) sequenceOf(s *keyState, i int, now time.Time) (*sequence.Sequence, error) {
	c := s.counters[i]
	period := c.Period(now)
	if p := c.current.Load(); p != nil && p.period == period {
		return p.Sequence, nil
	}
	q, err := k.pool.Sequence(idconfig.SequenceName(s.config.Key, i, period), sequence.Spec{Step: 1, Bound: c.Max})
	if err == nil {
		c.current.Store(&periodSequence{period, q})
	}
	return q, err
}

// startRead returns the running read of a key, or starts one.
func (k *keys) startRead(key string, revision int64) (r *read, started bool) {
	all := &k.reads
	all.mu.Lock()
	defer all.mu.Unlock()
	if r := all.byKey[key]; r != nil {
		return r, false
	}
	r = &read{revision: revision, done: make(chan struct{})}
	if all.closed {
		r.err = store.ErrClosed
		close(r.done)
		return r, true
	}
	if all.byKey == nil {
		all.byKey = map[string]*read{}
	}
	all.byKey[key] = r
	all.all.Add(1)
	go k.runRead(key, r)
	return r, true
}

// runRead reads, within the time limit of a request.
func (k *keys) runRead(key string, r *read) {
	all := &k.reads
	defer all.all.Done()
	defer func() {
		if p := recover(); p != nil {
			k.log.Error("idbuilder: panic", "panic", p, "key", key, "stack", string(debug.Stack()))
			r.err = api.Errorf(api.Internal, "internal error in the configuration of %q", key)
		}
		all.mu.Lock()
		delete(all.byKey, key)
		all.mu.Unlock()
		close(r.done)
	}()
	ctx, cancel := context.WithTimeout(k.life, k.timeout)
	defer cancel()
	r.entry, r.state, r.err = k.readKey(ctx, key, r.revision)
}

// awaitRead returns the key as a read finds it that is not older than a revision.
func (k *keys) awaitRead(ctx context.Context, key string, revision int64) (*keyEntry, *keyState, error) {
	for last := false; ; last = true {
		r, started := k.startRead(key, revision)
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("idbuilder: configuration %q: %w", key, ctx.Err())
		}
		switch {
		case r.err == nil && r.revision >= revision:
			return r.entry, r.state, nil
		case started || last && r.err != nil:
			return nil, nil, r.err
		}
		// The read began before this call: it may have missed what was stored in between.
	}
}

// readKey reads the configuration of a key. There is one call for a key at a time.
func (k *keys) readKey(ctx context.Context, key string, revision int64) (*keyEntry, *keyState, error) {
	begun := time.Now()
	c, err := k.readConfig(ctx, key)
	if err != nil {
		if apiErr := (*api.Error)(nil); errors.As(err, &apiErr) && apiErr.Code == api.NotFound {
			k.entries.Delete(key)
		}
		return nil, nil, err
	}
	found, _ := k.entries.LoadOrStore(key, &keyEntry{key: key})
	e := found.(*keyEntry)
	s, err := k.newState(c, e.state.Load())
	if err != nil {
		return nil, nil, err
	}
	s.revision, s.read = revision, begun
	e.used.Store(begun.Unix())
	e.state.Store(s)
	return e, s, nil
}

// maxAge is how long a worker uses a configuration without reading it again, even if the
// revision stays the same: a process that crashes between a change and its announcement
// leaves the revision as it was. After half of this time a request starts a read in the
// background.
const maxAge = time.Minute

// reads are the running reads of configurations, at most one of each key. The read goes on
// if the caller that started it leaves: others may wait for it.
type reads struct {
	mu     sync.Mutex
	byKey  map[string]*read
	closed bool
	all    sync.WaitGroup
}

// read is a read of a configuration.
type read struct {
	revision int64         // that the store had before the read began
	done     chan struct{} // closed when the read has ended
	// Set before done is closed:
	entry *keyEntry
	state *keyState
	err   error
}

// closeReads makes later reads fail, and waits for the running ones.
func (r *reads) closeReads() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.all.Wait()
}
