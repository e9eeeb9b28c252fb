// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/newer"
)

// periodStore is a store in which counters that begin anew keep the sequences of their latest
// periods, and those of earlier periods are removed.
//
// A document for each counter lists the periods that have begun and are not over, and has the
// floor, below which a period is over for ever. A change of the document is by its version. So a
// period is listed once at most, and its sequence is removed only when the document says
// that it is over. A worker reserves first, and reads the document after that: where
// the period is still listed, its sequence was never removed, and no number of the reservation
// can have been given before. Otherwise the worker drops the reservation.
//
// No clock decides when a period is over: it is the earliest of those that are listed, and
// keptPeriods others have begun since.
type periodStore struct {
	store.Store
	log *slog.Logger

	mu  sync.Mutex
	due map[periodCounter]bool // counters with sequences to remove
}

// periodCounter is a counter that begins anew.
type periodCounter struct {
	name  string // of its sequences, without the period
	reset format.Reset
}

// document returns the key of the counter's document.
func (c periodCounter) document() string { return c.name + ":" + string(c.reset) }

func (c periodCounter) sequence(period string) string { return c.name + ":" + period }

// keptPeriods is how many periods of a counter must have begun after one before that one is over.
const keptPeriods = 32

// counterPeriods is the document of a counter.
type counterPeriods struct {
	Open  []string `json:"open"`            // in the order in which they have begun
	Floor string   `json:"floor,omitempty"` // the last period that is over; those before it are, too
	// Over lists periods of which the sequences are to be removed.
	Over []string `json:"over,omitempty"`
	// Before says that there may be sequences of periods before that one, which are over.
	// Programs made them that did not keep this document, or that crashed.
	Before string `json:"before,omitempty"`

	periodCounter
	version int64
}

// begin adds a period, and ends those that are over.
func (d *counterPeriods) begin(period string) {
	d.Open = append(d.Open, period)
	for {
		first := slices.Index(d.Open, slices.Min(d.Open))
		if first >= len(d.Open)-keptPeriods {
			return
		}
		d.end(first)
	}
}

// end ends the earliest of the open periods. Those between the last one that has ended and this one may have sequences
// of programs that crashed: while Before stands at older ones, they are listed, as far as removeBefore would look.
func (d *counterPeriods) end(i int) {
	period := d.Open[i]
	before := d.reset.Before(period)
	if d.Before == "" && before != d.Floor {
		d.Before = period
	} else {
		for n := 0; n < removeStep && before > d.Floor; n++ {
			d.Over, before = append(d.Over, before), d.reset.Before(before)
		}
	}
	d.Floor, d.Over, d.Open = period, append(d.Over, period), slices.Delete(d.Open, i, i+1)
}

// Reserve implements [store.Store].
func (p *periodStore) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	counter, period, ok := idconfig.CutPeriod(name)
	if !ok {
		return p.Store.Reserve(ctx, name, r)
	}
	of := periodCounter{counter, format.ResetOf(period)}
	r.Removable = true
	for {
		got, err := p.Store.Reserve(ctx, name, r)
		lost := errors.Is(err, store.ErrLost)
		if err != nil && !lost {
			return got, err
		}
		if over := p.checkOpen(ctx, of, period); over != nil {
			return store.Range{}, over
		}
		if !lost || !r.Removable {
			return got, err
		}
		r.Removable = false // no worker has removed the sequence, so the store has lost data: it must know
	}
}

// checkOpen returns an error if a period is over. It begins a period that has not begun.
func (p *periodStore) checkOpen(ctx context.Context, of periodCounter, period string) error {
	for {
		d, err := p.read(ctx, of)
		switch {
		case err != nil || slices.Contains(d.Open, period):
			return err
		case period <= d.Floor:
			return p.refuse(ctx, d, period)
		}
		d.begin(period)
		if err = p.write(ctx, d); err == nil {
			p.noteDue(d)
			return nil
		}
		if !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

// refuse removes what the reservation of a period that is over may have made.
func (p *periodStore) refuse(ctx context.Context, d *counterPeriods, period string) error {
	_, err := p.DeleteSequence(ctx, d.sequence(period))
	return &api.Error{Code: api.Unavailable, Err: err, Message: fmt.Sprintf(
		"the clock of the service is behind: it says %s, but %d later periods of the key have begun, the last of them %s", period, keptPeriods, slices.Max(d.Open))}
}

func (p *periodStore) read(ctx context.Context, of periodCounter) (*counterPeriods, error) {
	d := &counterPeriods{periodCounter: of}
	stored, err := p.Get(ctx, store.Periods, of.document())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return d, nil
	case err != nil:
		return d, fmt.Errorf("idbuilder: periods of the counter %q: %w", of.name, err)
	}
	d.version = stored.Version
	if err = newer.Unmarshal(stored.Value, d); err == nil && len(d.Open) == 0 {
		err = errors.New("it has no open period")
	}
	switch {
	case errors.Is(err, store.ErrNewer): // it may say what must not be removed
		return d, fmt.Errorf("idbuilder: periods of the counter %q: %w", of.name, err)
	case err != nil:
		return d, &store.CorruptError{Where: "the document of the kind period " + of.document(), Reason: "this program did not write it; restore it from a backup", Err: err}
	}
	return d, nil
}

func (p *periodStore) write(ctx context.Context, d *counterPeriods) error {
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = p.Put(ctx, store.Periods, store.Document{Key: d.document(), Value: value, Version: d.version})
	return err
}

// noteDue notes that a counter has sequences to remove, if it has.
func (p *periodStore) noteDue(d *counterPeriods) {
	if len(d.Over) > 0 || d.Before != "" {
		p.addDue(d.periodCounter)
	}
}

func (p *periodStore) addDue(c periodCounter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due == nil {
		p.due = map[periodCounter]bool{}
	}
	p.due[c] = true
}

// takeDue returns the counters that are due, and forgets them.
func (p *periodStore) takeDue() map[periodCounter]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.due
	p.due = nil
	return due
}

// removeEvery is the time between two steps in which a worker removes sequences.
const removeEvery = time.Minute

// removeRegularly removes sequences of periods that are over, until ctx ends.
func (p *periodStore) removeRegularly(ctx context.Context) {
	tick := time.NewTicker(removeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.removeDue(ctx)
	}
}

// removeDue removes sequences of the counters that are due. Those of which it could not remove
// all are due again.
func (p *periodStore) removeDue(ctx context.Context) {
	var failed error
	counters := 0
	for c := range p.takeDue() {
		err := p.removeOver(ctx, c)
		if err == nil {
			continue
		}
		p.addDue(c)
		if !errors.Is(err, store.ErrConflict) {
			failed, counters = err, counters+1
		}
	}
	if failed != nil && ctx.Err() == nil {
		p.log.Warn("sequences of periods that are over are not removed yet", "counters", counters, "error", failed)
	}
}

// removeOver removes sequences of a counter: those of periods that have just ended, and some of
// older ones. If some are left the counter is due again.
func (p *periodStore) removeOver(ctx context.Context, c periodCounter) error {
	d, err := p.read(ctx, c)
	if err != nil || len(d.Over) == 0 && d.Before == "" {
		return err
	}
	for len(d.Over) > 0 && err == nil {
		if _, err = p.DeleteSequence(ctx, d.sequence(d.Over[0])); err == nil {
			d.Over = d.Over[1:]
		}
	}
	if err == nil {
		err = p.removeBefore(ctx, d)
	}
	p.noteDue(d)
	return errors.Join(err, p.write(ctx, d))
}

// removeStep is how many periods removeBefore looks at. If none of them has a sequence, it looks
// no further.
const removeStep = 64

// removeBefore removes older sequences, from the latest to the earliest.
func (p *periodStore) removeBefore(ctx context.Context, d *counterPeriods) error {
	found := false
	for n := 0; n < removeStep && d.Before != ""; n++ {
		before := d.reset.Before(d.Before)
		existed, err := p.DeleteSequence(ctx, d.sequence(before))
		if err != nil {
			return err
		}
		d.Before, found = before, found || existed
	}
	if !found {
		d.Before = ""
	}
	return nil
}
