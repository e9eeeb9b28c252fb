// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"
)

// choice is what a worker does next.
type choice struct {
	rng     *Range        // to fill; nil: none may be claimed now
	expired bool          // rng is claimed by a worker that has not changed it for a lease
	wait    time.Duration // until another look; 0 if rng is nil: nothing is left for this worker
}

// choose reads the list and picks a range at random: a free one, or else one whose
// claim has expired.
//
// No clocks are compared: a claim expires when this process has seen it unchanged for
// a whole lease on its own clock. It need not be right. A worker that was only slow
// finds its range claimed by another, and no record is counted twice (see the rules
// of the package).
func (r *Run) choose(ctx context.Context, worker []byte) (choice, error) {
	ranges, err := r.look(ctx)
	if err != nil {
		return choice{}, err
	}
	for _, i := range rand.Perm(len(ranges)) {
		if c := &ranges[i]; !c.IsDone() && c.mayBeClaimed(worker, nil) {
			return choice{rng: c}, nil
		}
	}
	return r.findExpired(ranges), nil
}

// findExpired notes which claims have changed and returns one that has not for a
// lease, or how long to wait for the first to expire. It does not wait for claims of
// this run alone: their workers are alive, or the run ends with their error.
func (r *Run) findExpired(ranges []Range) (c choice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.options.Now()
	for i := range ranges {
		claim := &ranges[i]
		if claim.IsDone() || r.isOwn(claim) {
			continue
		}
		last, known := r.seen[string(claim.Begin)]
		if !known || last.claim.Beats != claim.Beats || !bytes.Equal(last.claim.Worker, claim.Worker) {
			last = observation{*claim, now}
			r.seen[string(claim.Begin)] = last
		}
		left := r.options.Lease - now.Sub(last.at)
		if left <= 0 {
			return choice{rng: claim, expired: true}
		}
		if left = min(left, r.options.Lease/4); c.wait == 0 || left < c.wait {
			c.wait = left
		}
	}
	return c
}
