// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

// worker fills ranges, one after the other. It is for one goroutine.
type worker struct {
	*Run
	id     []byte
	effort effort
	begun  time.Time // when it began its last batch
}

// work fills ranges until none are left for it.
func (w *worker) work(ctx context.Context) error {
	for {
		c, err := w.choose(ctx, w.id)
		switch {
		case err != nil:
			return err
		case c.rng != nil:
			Reach(ctx, Picked)
			err = w.fillRange(ctx, c)
		case c.wait == 0:
			return nil
		default:
			err = sleep.For(ctx, c.wait)
		}
		if err != nil {
			return err
		}
	}
}

// fillRange claims a range with its first batch, and fills it until nothing is left
// or another worker has claimed it.
func (w *worker) fillRange(ctx context.Context, c choice) error {
	expired := c.rng
	if !c.expired {
		expired = nil
	}
	w.begun = w.options.Now()
	for {
		r, err := w.fillBatch(ctx, c.rng.Begin, expired)
		if err != nil {
			w.release(ctx, c.rng.Begin)
			return err
		}
		if r == nil {
			return nil // another worker's, or no more
		}
		expired = nil
		Reach(ctx, Moved)
		w.noteChange(r)
		if r.IsDone() {
			return nil
		}
		if err := w.rest(ctx, r); err != nil {
			w.release(ctx, r.Begin)
			return err
		}
	}
}

// rest waits as long as the limits demand, and renews the claim meanwhile.
func (w *worker) rest(ctx context.Context, r *Range) error {
	for wait := max(w.pace.take(w.effort.taken), w.effort.rest(w.options.Share)); wait > 0; {
		step := min(wait, max(w.options.Lease/4, time.Millisecond))
		if err := sleep.For(ctx, step); err != nil {
			return err
		}
		if wait -= step; wait > 0 {
			if err := w.renew(ctx, r.Begin); err != nil {
				return err
			}
		}
	}
	return nil
}
