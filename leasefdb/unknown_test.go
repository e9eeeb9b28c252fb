// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// TestWhenUnknown: the function of a fence is told of transactions under it that leave open whether they have
// committed, and of no others.
func TestWhenUnknown(t *testing.T) {
	db := &enginetest.Lossy{Database: enginetest.InProcess(t)}
	names := openNames(t, db)
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{}))
	var told []error
	first := 0
	fence := g.Fence().WhenUnknown(func(error) { first++ }).WhenUnknown(func(err error) { told = append(told, err) })
	fenced := fence.Under(db)
	set := func(tx kv.Transaction) error { tx.Set(key, nil); return nil }
	refused := errors.New("refused")
	for name, run := range map[string]struct {
		do      func(context.Context) error
		unknown bool // the outcome of an interrupted commit
	}{
		"Transact": {func(ctx context.Context) error { return fenced.Transact(ctx, set) }, true},
		"Commit": {func(ctx context.Context) error {
			tx := must[kv.Transaction](t)(fenced.Begin())
			defer tx.Release()
			check(t, set(tx))
			return tx.Commit(ctx)
		}, true},
		"Check": {func(ctx context.Context) error {
			err := db.Transact(ctx, func(tx kv.Transaction) error {
				check(t, fence.Check(ctx, tx))
				return set(tx)
			})
			fence.NoteEnd(err)
			return err
		}, true},
		"a function that fails": {func(ctx context.Context) error {
			return fenced.Transact(ctx, func(kv.Transaction) error { return refused })
		}, false},
		"the zero fence": {func(ctx context.Context) error {
			zero := leasefdb.Fence{}.WhenUnknown(func(error) { t.Error("the zero fence was told something") })
			return zero.Under(db).Transact(ctx, set)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			told, first = nil, 0
			if err := run.do(ctx); err != nil && err != refused || len(told) > 0 {
				t.Fatalf("an undisturbed transaction: %v, and the fence was told %v", err, told)
			}
			db.Lose(false, nil)
			if err := run.do(ctx); name != "Commit" && err != nil && err != refused || len(told) > 0 {
				t.Errorf("a lost acknowledgement, which is retried: %v, and the fence was told %v", err, told)
			}
			short, cancel := context.WithCancel(ctx)
			defer cancel()
			db.Interrupt(cancel)
			err := run.do(short)
			if run.unknown && (len(told) != 1 || told[0] != err || first != 1) || !run.unknown && len(told) > 0 { //nolint:errorlint // the same error
				t.Errorf("an interrupted commit: %v, and the fence was told %v, and first %d", err, told, first)
			}
			_ = db.Transact(ctx, set) // the fault of a commit that was not made is this one's
		})
	}
}
