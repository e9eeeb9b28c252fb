// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
)

// ErrChanged says that a configuration is not the one that a request replaces.
var ErrChanged = errors.New("idbuilder: the configuration was changed since it was read")

// SaveConfig creates a configuration or changes it. A change that could give IDs
// twice is refused with a [*idconfig.ChangeError] unless r.Force; a sequence
// never goes back otherwise. When it returns nil, all workers use the new configuration,
// but those that cannot ask the store and give IDs from memory: see [Options.Outage].
// After an error that wraps [revision.ErrUnconfirmed] the change is stored. It is safe to repeat.
// With r.Replaces the error is [ErrChanged] if the stored configuration has another version.
func (w *Worker) SaveConfig(ctx context.Context, r *idconfig.Request) error {
	for {
		changed, err := w.saveConfig(ctx, r)
		if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			continue // another change, or a reservation, was faster
		}
		if err == nil && changed {
			err = w.watch.Announce(ctx)
		}
		if err == nil && changed && r.Type == idconfig.TypeSnowflake {
			err = w.changeLayout(ctx, r)
		}
		return err
	}
}

// saveConfig reports whether workers may still have an older configuration in memory.
func (w *Worker) saveConfig(ctx context.Context, r *idconfig.Request) (changed bool, err error) {
	old, err := w.storedConfig(ctx, r.Key)
	if err != nil {
		return false, err
	}
	if r.Replaces != 0 && (old == nil || old.Version != r.Replaces) {
		return false, fmt.Errorf("%w: key %q", ErrChanged, r.Key)
	}
	var version int64
	if old != nil {
		version = old.Version
		if r.CreateOnly && !old.Deleted {
			return false, &api.Error{Code: api.Invalid, Status: http.StatusConflict, Message: fmt.Sprintf("name: there is a configuration %q already", r.Key)}
		}
		if err := w.checkChange(ctx, old, &r.Config); err != nil && !r.Force {
			return false, err
		}
		r.Succeed(old)
	}
	if r.Type == idconfig.TypeIncrement {
		if err := w.moveSequence(ctx, old, r); err != nil {
			return false, err
		}
	}
	if old != nil && old.Deleted && !old.Revoked { // now that nothing refuses the creation
		if err := w.tokens.Revoke(ctx, r.Key); err != nil {
			return false, err // the tokens of the deleted key would permit IDs of this one
		}
	}
	return old != nil, w.putConfig(ctx, &r.Config, version)
}

// changeLayout puts the layout of a snowflake key in force, once all workers know it.
func (w *Worker) changeLayout(ctx context.Context, r *idconfig.Request) error {
	c, err := w.keys.readConfig(ctx, r.Key)
	if err != nil || c.Type != idconfig.TypeSnowflake {
		return err // another change came after
	}
	return w.leases.Change(ctx, leaseKey(c), r.Force)
}

// checkChange refuses a change after which IDs may repeat. For a snowflake key that depends
// on the leases.
func (w *Worker) checkChange(ctx context.Context, old, next *idconfig.Config) error {
	if old.Type == idconfig.TypeSnowflake && next.Type == idconfig.TypeSnowflake {
		return w.leases.CheckChange(ctx, next.Key, layoutOf(old.Snowflake), layoutOf(next.Snowflake))
	}
	return idconfig.CheckChange(old, next)
}

// storedConfig reads a configuration, even one that was deleted; nil if there is
// none.
func (w *Worker) storedConfig(ctx context.Context, key string) (*idconfig.Config, error) {
	d, err := w.store.Get(ctx, store.Configs, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("idbuilder: configuration %q: %w", key, err)
	}
	return idconfig.Decode(d)
}

func (w *Worker) putConfig(ctx context.Context, c *idconfig.Config, version int64) error {
	value, err := c.Encode()
	if err != nil {
		return err
	}
	_, err = w.store.Put(ctx, store.Configs, store.Document{Key: c.Key, Type: string(c.Type), Value: value, Version: version})
	return err
}

// moveSequence moves the sequence of an increment key to the base of the request, if that
// is a new one. A sequence that does not exist begins at the base anyway, unless a
// worker may still begin it at an older base.
func (w *Worker) moveSequence(ctx context.Context, old *idconfig.Config, r *idconfig.Request) error {
	next := r.Increment
	before := &idconfig.Increment{Base: next.Base - 1, Delta: next.Delta} // another base than the next
	if old != nil && old.Increment != nil {
		before = old.Increment
	}
	s, err := w.store.Sequence(ctx, r.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if old == nil || before.Base == next.Base {
			return nil
		}
	case err != nil:
		return err
	case next.Rewinds(before, s.Value) && !r.Force:
		return rewindError(before, s.Value)
	case !next.Rewinds(before, s.Value) && !next.Advances(before, s.Value):
		return nil
	}
	return w.store.SetSequence(ctx, r.Key, next.Base, s.Version)
}

// rewindError refuses a base when numbers beyond it have been reserved.
func rewindError(before *idconfig.Increment, reserved int64) *idconfig.ChangeError {
	return &idconfig.ChangeError{Param: "base", Reason: fmt.Sprintf("numbers up to %d have been reserved; allowed are %d (as it is), %d, and bases beyond that", reserved, before.Base, reserved)}
}

// DeleteConfig deletes a configuration and makes its tokens invalid, on all workers when it returns
// nil, as with [Worker.SaveConfig]. What the key has given is kept: a configuration that is created
// with the same key continues after it.
//
// If it fails, repeat it: it then completes the deletion. For a key that is deleted it returns the
// error for a configuration that does not exist. If it is not repeated, creating the key again
// makes the tokens invalid first.
func (w *Worker) DeleteConfig(ctx context.Context, key string) error {
	for existed, marked := false, false; ; {
		c, err := w.storedConfig(ctx, key)
		switch {
		case err != nil:
			return err
		case c == nil || c.Deleted && c.Revoked || marked && !c.Deleted: // or else the key was created again
			if existed {
				return nil
			}
			return noConfig(key)
		}
		existed = existed || !c.Deleted
		err = w.deleteStep(ctx, c)
		if err != nil && (!errors.Is(err, store.ErrConflict) || ctx.Err() != nil) {
			return err
		}
		marked = marked || err == nil
	}
}

// deleteStep does the next step of a deletion: it marks the configuration as deleted, or else makes
// its tokens invalid, and notes that. Without the note, tokens that were made before the deletion
// could not be told from those that are made for the next configuration of the key.
func (w *Worker) deleteStep(ctx context.Context, c *idconfig.Config) error {
	next := *c
	if next.Deleted {
		if err := w.tokens.Revoke(ctx, c.Key); err != nil {
			return err
		}
		next.Revoked = true
	}
	next.Deleted = true
	return w.putConfig(ctx, &next, c.Version)
}

// Config returns a configuration and the state of its IDs: an *[idconfig.IncrementState],
// *[idconfig.SnowflakeState] or *[idconfig.FormattedState]. The error is a [*api.Error] if there
// is none.
func (w *Worker) Config(ctx context.Context, key string) (*idconfig.Config, any, error) {
	c, err := w.keys.readConfig(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	switch c.Type {
	case idconfig.TypeIncrement:
		state, err := w.incrementState(ctx, c)
		return c, state, err
	case idconfig.TypeSnowflake:
		n, err := w.leases.Active(ctx, leaseKey(c))
		unread := snowflake.IsUnreadable(err)
		if unread {
			w.options.Logger.ErrorContext(ctx, "leases of worker ids cannot be read", "key", key, "error", err)
			err = nil
		}
		return c, &idconfig.SnowflakeState{ActiveWorkers: n, Incomplete: unread}, err
	}
	state, err := w.formattedState(ctx, c)
	return c, state, err
}

// formattedState returns the state of each counter of a formatted key.
func (w *Worker) formattedState(ctx context.Context, c *idconfig.Config) (*idconfig.FormattedState, error) {
	now := w.options.Now()
	state := &idconfig.FormattedState{SampleID: c.Formatted.Format.Sample(now)}
	for i, counter := range c.Formatted.Format.Counters() {
		period := counter.Period(now)
		stored, err := w.store.Sequence(ctx, idconfig.SequenceName(c.Key, i, period))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		state.Counters = append(state.Counters, idconfig.CounterState{Period: period, Reserved: stored.Value, Max: counter.Max})
	}
	return state, nil
}

// incrementState returns the last ID that a key gave. It is exact if no other worker
// has reserved since this one did.
func (w *Worker) incrementState(ctx context.Context, c *idconfig.Config) (*idconfig.IncrementState, error) {
	var mine sequence.State // first: what others reserve after it makes it inexact
	if known := w.keys.stateOf(c.Key); known != nil && known.sequence != nil {
		mine = known.sequence.State()
	}
	stored, err := w.store.Sequence(ctx, c.Key)
	if errors.Is(err, store.ErrNotFound) {
		return &idconfig.IncrementState{Current: c.Increment.Base, Exact: true, Reserved: c.Increment.Base}, nil
	}
	if err != nil {
		return nil, err
	}
	state := &idconfig.IncrementState{Current: stored.Value, Reserved: stored.Value, Exact: stored.Value == c.Increment.Base}
	if mine.Given && mine.Version == stored.Version {
		state.Current, state.Exact = mine.Last, true
	}
	return state, nil
}

// ConfigEntry is a configuration in a list.
type ConfigEntry struct {
	*idconfig.Config // has only Key and Type if Err is not nil
	// Err says why the configuration cannot be read: see [store.IsUnreadable].
	Err error
}

// Configs returns a page of the configurations that were not deleted, in the order of their keys. One that
// cannot be read is in its place, and hides no other.
func (w *Worker) Configs(ctx context.Context, o store.ListOptions) (page []ConfigEntry, more bool, err error) {
	limit := o.Limit
	o.Limit = limit + 1
	for {
		documents, err := w.store.List(ctx, store.Configs, o)
		if err != nil {
			return nil, false, err
		}
		for _, d := range documents {
			c, err := idconfig.Decode(d)
			if err != nil {
				c = &idconfig.Config{Key: d.Key, Type: idconfig.Type(d.Type)}
			}
			if c.Deleted {
				continue
			}
			if len(page) == limit {
				return page, true, nil
			}
			page = append(page, ConfigEntry{c, err})
		}
		if len(documents) < o.Limit {
			return page, false, nil
		}
		o.After = documents[len(documents)-1].Key
	}
}

// AdvanceOptions say how far [Worker.Advance] moves a key.
type AdvanceOptions struct {
	// Steps is how many steps the sequences of an increment or formatted key move ahead, at least 1.
	// Take more than all workers can have reserved since the newest write that the store still has.
	Steps int64
	// ClientsStopped says that all programs that make IDs of a snowflake key were stopped, so that its
	// worker ids can be leased at once.
	ClientsStopped bool
}

// Advance is what [Worker.Advance] did.
type Advance struct {
	Type string
	// Sequences has the number after which each sequence continues, by the name of the sequence. For a formatted key that is its key, '#', the counter and the counter's period.
	Sequences map[string]int64
	// Exhausted are the sequences that have no number left that the key can give as it is configured now.
	Exhausted []string
	// Quarantined says that worker ids of a snowflake key are leased to no new client until all leases
	// have ended that the store may have lost: see [Options.LeaseHold].
	Quarantined bool
}

// Advance moves a key ahead, so that it gives no ID again that it gave after the newest write that the
// store still has. Call it for each key after a restored backup, or a failover that lost writes, while
// no worker runs: for keys of all kinds, and for deleted keys, too, since a key that is created again
// continues its sequence. Of a counter that begins anew it moves the periods that have begun and are not over, as far
// as the store knows, and those in which a clock may be that differs from [Options.Now] by an hour. If it is called
// again it moves the key again. After an error it may have moved
// some of the key's sequences. The error is a [*api.Error] if there is no such key.
func (w *Worker) Advance(ctx context.Context, key string, o AdvanceOptions) (*Advance, error) {
	if o.Steps < 1 {
		return nil, fmt.Errorf("idbuilder: Steps is %d; it must be at least 1", o.Steps)
	}
	c, err := w.storedConfig(ctx, key)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, noConfig(key)
	}
	done := &Advance{Type: string(c.Type), Sequences: map[string]int64{}}
	now := w.options.Now()
	sequences, err := c.Reservations(o.Steps, func(sequence string, of format.Counter) ([]string, error) {
		return w.periodsToMove(ctx, sequence, of, now)
	})
	if err != nil {
		return nil, err
	}
	for name, r := range sequences {
		if err := w.advanceSequence(ctx, name, r, done); err != nil {
			return nil, fmt.Errorf("idbuilder: key %q, sequence %q: %w", key, name, err)
		}
	}
	if c.Type == idconfig.TypeSnowflake && !o.ClientsStopped {
		done.Quarantined, err = true, w.leases.Quarantine(ctx, leaseKey(c))
	}
	return done, err
}

// clockError is how far the clocks of two workers may differ without a number that comes twice after Advance.
const clockError = time.Hour

// periodsToMove returns the periods in which a counter may have given numbers that the store has lost.
func (w *Worker) periodsToMove(ctx context.Context, sequence string, of format.Counter, now time.Time) ([]string, error) {
	if of.Reset == format.ResetNever {
		return []string{""}, nil
	}
	d, err := w.periods.read(ctx, periodCounter{sequence, of.Reset})
	if err != nil {
		return nil, err
	}
	periods, first := d.Open, of.Period(now.Add(-clockError))
	for p := of.Period(now.Add(clockError)); p >= first && p > d.Floor; p = of.Reset.Before(p) {
		if !slices.Contains(periods, p) {
			periods = append(periods, p)
		}
	}
	return periods, nil
}

// advanceSequence reserves numbers that nobody uses. Where fewer are left it reserves those.
func (w *Worker) advanceSequence(ctx context.Context, name string, r idconfig.SequenceReservation, done *Advance) error {
	reserved, err := w.store.Reserve(ctx, name, r.Reservation)
	if errors.Is(err, store.ErrExhausted) {
		done.Exhausted = append(done.Exhausted, name)
		return nil
	}
	if err != nil {
		return err
	}
	done.Sequences[name] = reserved.To
	if r.IsExhausted(reserved.To) {
		done.Exhausted = append(done.Exhausted, name)
	}
	return nil
}
