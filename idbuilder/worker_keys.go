// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// keyOfType returns a key of a type: a [*api.Error] if there is none. Outage reports that the
// configuration may have changed since the store ceased to answer. A worker id is leased by the
// store alone, so that a snowflake key needs a store that answers.
func (w *Worker) keyOfType(ctx context.Context, key string, t idconfig.Type) (e *keyEntry, s *keyState, outage bool, err error) {
	if t == idconfig.TypeSnowflake {
		e, s, err = w.currentKey(ctx, key)
	} else {
		e, s, outage, err = w.lastKey(ctx, key)
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
func (w *Worker) currentKey(ctx context.Context, key string) (*keyEntry, *keyState, error) {
	current, err := w.watch.Current(ctx)
	if err != nil {
		return nil, nil, err
	}
	if e, s := w.keys.entryAt(key, current); s != nil && w.isFresh(s, current) {
		return e, s, nil
	}
	return w.awaitRead(ctx, key, current)
}

// lastKey is currentKey while the store answers. While it does not, lastKey returns keys that are
// in memory, for [revision.Options.Outage].
func (w *Worker) lastKey(ctx context.Context, key string) (e *keyEntry, s *keyState, outage bool, err error) {
	at, err := w.watch.Last(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	e, s = w.keys.entryAt(key, at.Revision)
	switch {
	case s == nil:
		e, s, err = w.currentKey(ctx, key)
		return e, s, false, err
	case at.Outage != nil:
		return e, s, true, nil
	case w.isFresh(s, at.Revision):
		return e, s, false, nil
	}
	inTime, cancel := context.WithTimeout(ctx, w.watch.Options().Validity)
	defer cancel()
	newer, read, err := w.awaitRead(inTime, key, at.Revision)
	var refusal *api.Error
	if revision.IsOutage(err) && !errors.As(err, &refusal) && ctx.Err() == nil && time.Since(s.read) < maxAge+w.watch.Options().Outage {
		return e, s, true, nil
	}
	return newer, read, false, err
}

// isFresh reports whether a key need not be read again. Before that is due, it starts a read.
func (w *Worker) isFresh(s *keyState, current int64) bool {
	age := time.Since(s.read)
	if age >= maxAge/2 {
		w.startRead(s.config.Key, current)
	}
	return age < maxAge
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
