// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// keys are the keys that were used of late.
type keys struct{ entries sync.Map } // of *keyEntry, by key

// keyEntry is what a worker knows of a key.
type keyEntry struct {
	key    string
	usage  keyUsage
	used   atomic.Int64 // Unix seconds
	state  atomic.Pointer[keyState]
	reader sync.Mutex // held while the configuration is read
}

// keyState is a key's configuration under a revision.
type keyState struct {
	revision int64
	config   *idconfig.Config
	counters []counter // of a formatted key
	sequence *sequence.Sequence
}

// counter is a counter of a formatted key.
type counter struct {
	format.Counter
	current *atomic.Pointer[periodSequence]
}

// periodSequence is the sequence of a counter in a period.
type periodSequence struct {
	period string
	*sequence.Sequence
}

// key returns a key of a type: a [*api.Error] if there is none.
func (w *Worker) key(ctx context.Context, key string, t idconfig.Type) (*keyEntry, *keyState, error) {
	now, err := w.watch.Current(ctx)
	if err != nil {
		return nil, nil, err
	}
	e, s := w.keys.get(key, now)
	if s == nil {
		if e, s, err = w.readKey(ctx, e, key, now); err != nil {
			return nil, nil, err
		}
	}
	if s.config.Type != t {
		return nil, nil, api.Errorf(api.Invalid, "key: %q makes %s IDs; ask /v1/id/%s", key, s.config.Type, s.config.Type)
	}
	return e, s, nil
}

// get returns what is known of a key; the state is nil unless it is of the
// revision.
func (k *keys) get(key string, revision int64) (*keyEntry, *keyState) {
	found, ok := k.entries.Load(key)
	if !ok {
		return nil, nil
	}
	e := found.(*keyEntry)
	if s := e.state.Load(); s != nil && s.revision == revision {
		return e, s
	}
	return e, nil
}

// state returns what is known of a key, of whichever revision, or nil.
func (k *keys) state(key string) *keyState {
	if found, ok := k.entries.Load(key); ok {
		return found.(*keyEntry).state.Load()
	}
	return nil
}

// readKey reads the configuration of a key. Of those who need it at once, one reads.
func (w *Worker) readKey(ctx context.Context, e *keyEntry, key string, revision int64) (*keyEntry, *keyState, error) {
	if e != nil {
		e.reader.Lock()
		defer e.reader.Unlock()
		if s := e.state.Load(); s != nil && s.revision == revision {
			return e, s, nil
		}
	}
	c, err := w.readConfig(ctx, key)
	if err != nil {
		if apiErr := (*api.Error)(nil); errors.As(err, &apiErr) && apiErr.Code == api.NotFound {
			w.keys.entries.Delete(key)
		}
		return nil, nil, err
	}
	if e == nil {
		found, _ := w.keys.entries.LoadOrStore(key, &keyEntry{key: key})
		e = found.(*keyEntry)
	}
	s, err := w.stateOf(c, e.state.Load())
	if err != nil {
		return nil, nil, err
	}
	s.revision = revision
	e.state.Store(s)
	e.used.Store(time.Now().Unix())
	return e, s, nil
}

// readConfig reads a configuration that was not deleted.
func (w *Worker) readConfig(ctx context.Context, key string) (*idconfig.Config, error) {
	d, err := w.store.Get(ctx, store.Configs, key)
	if err == nil {
		var c *idconfig.Config
		if c, err = idconfig.Decode(d); err == nil && !c.Deleted {
			return c, nil
		}
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return nil, api.Errorf(api.NotFound, "key: there is no configuration %q", key)
	}
	return nil, fmt.Errorf("idbuilder: configuration %q: %w", key, err)
}

// stateOf returns the state of a configuration. That of a version which is known
// already goes on with its sequences.
func (w *Worker) stateOf(c *idconfig.Config, old *keyState) (s *keyState, err error) {
	if old != nil && old.config.Version == c.Version {
		return &keyState{config: old.config, counters: old.counters, sequence: old.sequence}, nil
	}
	s = &keyState{config: c}
	switch c.Type {
	case idconfig.TypeIncrement:
		i := c.Increment
		spec := sequence.Spec{Start: i.Base, Step: i.Delta, Bound: i.Bound()}
		if s.sequence, err = w.pool.Sequence(c.Key, spec); errors.Is(err, sequence.ErrDirection) {
			w.pool.Drop(c.Key) // a forced change has turned it
			s.sequence, err = w.pool.Sequence(c.Key, spec)
		}
	case idconfig.TypeFormatted:
		for _, f := range c.Formatted.Format.Counters() {
			s.counters = append(s.counters, counter{f, new(atomic.Pointer[periodSequence])})
		}
	}
	return s, err
}

// sequenceOf returns the sequence of the i-th counter of a formatted key at a time.
func (w *Worker) sequenceOf(s *keyState, i int, now time.Time) (*sequence.Sequence, error) {
	c := s.counters[i]
	period := c.Period(now)
	if p := c.current.Load(); p != nil && p.period == period {
		return p.Sequence, nil
	}
	q, err := w.pool.Sequence(idconfig.SequenceName(s.config.Key, i, period), sequence.Spec{Step: 1, Bound: c.Max})
	if err == nil {
		c.current.Store(&periodSequence{period, q})
	}
	return q, err
}

// forgetIdle forgets the keys that were not used since.
func (k *keys) forgetIdle(since time.Time) {
	k.entries.Range(func(key, entry any) bool {
		if entry.(*keyEntry).used.Load() < since.Unix() {
			k.entries.Delete(key)
		}
		return true
	})
}
