// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/idbuilder/store"
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
	// Exhausted are the sequences that have no number left within their bounds.
	Exhausted []string
	// Quarantined says that worker ids of a snowflake key are leased to no new client until all leases
	// have ended that the store may have lost: see [snowflake.Options.Hold].
	Quarantined bool
}

// Advance moves a key ahead, so that it gives no ID again that it gave after the newest write that the
// store still has. Call it for each key after a restored backup, or a failover that lost writes, while
// no worker runs: for keys of all kinds, and for deleted keys, too, since a key that is created again
// continues its sequence. If it is called again it moves the key again. After an error it may have moved
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
	sequences, err := c.Reservations(o.Steps, w.options.Now())
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

// advanceSequence reserves numbers that nobody uses. Where fewer are left it reserves those.
func (w *Worker) advanceSequence(ctx context.Context, name string, r store.Reservation, done *Advance) error {
	reserved, err := w.store.Reserve(ctx, name, r)
	if errors.Is(err, store.ErrExhausted) {
		done.Exhausted = append(done.Exhausted, name)
		return nil
	}
	if err != nil {
		return err
	}
	done.Sequences[name] = reserved.To
	if reserved.Steps(r.Step) < r.Count {
		done.Exhausted = append(done.Exhausted, name)
	}
	return nil
}
