// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// keyOfType returns a key of a type: a [*api.Error] if there is none.
func (w *Worker) keyOfType(ctx context.Context, key string, t idconfig.Type) (*keyEntry, *keyState, error) {
	e, s, err := w.currentKey(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if s.config.Type != t {
		return nil, nil, api.Errorf(api.Invalid, "key: %q makes %s IDs; ask /v1/id/%s", key, s.config.Type, s.config.Type)
	}
	return e, s, nil
}

// currentKey returns a key at the present revision: from memory, unless the entry there
// is too old.
func (w *Worker) currentKey(ctx context.Context, key string) (*keyEntry, *keyState, error) {
	revision, err := w.watch.Current(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e, s := w.keys.entryAt(key, revision); s != nil {
		age := time.Since(s.read)
		if age >= maxAge/2 {
			w.startRead(key, revision)
		}
		if age < maxAge {
			return e, s, nil
		}
	}
	return w.awaitRead(ctx, key, revision)
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
		return nil, noConfig(key)
	}
	return nil, fmt.Errorf("idbuilder: configuration %q: %w", key, err)
}

// stateOf returns the state of a configuration. It takes over the sequences of old if that has
// the same version.
func (w *Worker) stateOf(c *idconfig.Config, old *keyState) (s *keyState, err error) {
	if old != nil && old.config.Version == c.Version {
		return &keyState{config: old.config, counters: old.counters, sequence: old.sequence}, nil
	}
	s = &keyState{config: c}
	switch c.Type {
	case idconfig.TypeIncrement:
		i := c.Increment
		spec := sequence.Spec{Start: i.Base, Step: i.Delta, Bound: i.Bound(), Epoch: i.Epoch}
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
