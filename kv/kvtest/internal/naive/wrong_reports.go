// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Faults of what conflicts tell. Each embeds a right transaction of the naive
// engine.
type (
	muteConflicts struct{ kv.Transaction } // there are never any
	allConflicts  struct {                 // every read is one
		kv.Transaction
		reads []kv.KeyRange
	}
	chattyConflicts  struct{ kv.Transaction } // they are told unasked
	forgetsConflicts struct{ kv.Transaction } // OnError forgets them
)

func (w muteConflicts) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	return w.Transaction.(*naiveTx).ConflictRanges(ctx)
}

func (w muteConflicts) ConflictingKeys(context.Context) ([]kv.KeyRange, error) { return nil, nil }

func (w *allConflicts) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	return w.Transaction.(*naiveTx).ConflictRanges(ctx)
}

func (w *allConflicts) Commit(ctx context.Context) error {
	w.reads, _, _ = w.ConflictRanges(ctx)
	return w.Transaction.Commit(ctx)
}

func (w *allConflicts) ConflictingKeys(context.Context) ([]kv.KeyRange, error) { return w.reads, nil }

func (w chattyConflicts) asking() kv.Transaction {
	_ = w.Transaction.SetOption(kv.OptionReportConflictingKeys, 0)
	return w.Transaction
}

func (w forgetsConflicts) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	return w.Transaction.(*naiveTx).ConflictRanges(ctx)
}

func (w forgetsConflicts) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	return w.Transaction.(*naiveTx).ConflictingKeys(ctx)
}

func (w forgetsConflicts) OnError(ctx context.Context, err error) error {
	w.Transaction.(*naiveTx).told = nil
	return w.Transaction.OnError(ctx, err)
}
