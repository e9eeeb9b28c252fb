// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// giveBack gives numbers back to the store, until ctx ends.
func (p *Pool) giveBack(ctx context.Context, offers []offer) {
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	for range min(p.o.Concurrency, len(offers)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(offers)); i = next.Add(1) - 1 {
				p.giveOneBack(ctx, offers[i])
			}
		})
	}
}

func (p *Pool) giveOneBack(ctx context.Context, o offer) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	err := ctx.Err()
	if err == nil {
		err = o.giveBack(ctx, p.store)
	}
	if err == nil {
		p.counts.returned.Add(o.steps)
		return
	}
	p.counts.dropped.Add(o.steps)
	if !errors.Is(err, store.ErrConflict) {
		p.o.Log.Debug("the store takes no numbers back: they are lost", "sequence", o.name, "numbers", o.steps, "error", err)
	}
}

// offer has the unused numbers of the last reservation of a sequence. The store takes them back
// if there was no other reservation since: it compares the version. Then no pool has got later
// numbers, and this one has taken the numbers out of memory before. So a lost answer of the
// store means a gap at most. A store that was restored from a backup, or whose newest writes a
// failover lost, can come to the same version again: so the value must be the same, too.
type offer struct {
	name  string
	value int64 // the number before them
	last  store.Sequence
	steps uint64
}

// giveBack gives the numbers back to the store, if the sequence has not changed.
func (o offer) giveBack(ctx context.Context, s store.Store) error {
	now, err := s.Sequence(ctx, o.name)
	if err != nil {
		return err
	}
	if now != o.last {
		return store.ErrConflict
	}
	return s.SetSequence(ctx, o.name, o.value, now.Version)
}
