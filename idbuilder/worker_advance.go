// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

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
	Type idconfig.Type
	// Sequences has the number after which each sequence continues, by the name of the sequence. For a formatted key that is its key, '#', the counter and the counter's period.
	Sequences map[string]int64
	// Exhausted are the sequences that have no number left that the key can give as it is configured now.
	Exhausted []string
	// Quarantined says that worker ids of a snowflake key are leased to no new client until all leases
	// have ended that the store may have lost: see [snowflake.Options.Hold].
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
	done := &Advance{Type: c.Type, Sequences: map[string]int64{}}
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
