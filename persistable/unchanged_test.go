// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestDeleteIfUnchanged deletes records with and without a concurrent change.
func TestDeleteIfUnchanged(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		wantError(t, s.DeleteIfUnchanged(ctx, &Order{ID: 1, TenantID: "t"}), persistable.ErrNotFound)
		firstOrder(t, s)
		was := must[*Order](t)(s.Get(ctx, 1))
		changed := *was
		changed.Amount++
		check(t, s.Save(ctx, &changed))
		wantError(t, s.DeleteIfUnchanged(ctx, was), persistable.ErrChanged)
		check(t, s.DeleteIfUnchanged(ctx, &changed))
		wantError(t, s.DeleteIfUnchanged(ctx, &changed), persistable.ErrNotFound)
		if err := s.DeleteIfUnchanged(ctx, nil); err == nil {
			t.Error("a nil record was deleted")
		}
		if r := sound(t, s.Indexes().Verify); r.Records != 0 || r.Entries != 0 {
			t.Errorf("left: %+v", r)
		}
	})
}

// TestConditionsAfterALostAcknowledgement loses the acknowledgement of conditional
// writes: they recognize their own work, and no other's.
func TestConditionsAfterALostAcknowledgement(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, engine), "t")
	other := OrderStoreOf(open(t, engine.Database), "t")
	firstOrder(t, s)
	was := must[*Order](t)(s.Get(ctx, 1))
	mine, theirs := *was, *was
	mine.Amount, theirs.Amount = 1, 2

	engine.begin(nil, fates(lost))
	check(t, s.SaveIfUnchanged(ctx, was, &mine))
	engine.begin(nil, fates(lost))
	check(t, s.DeleteIfUnchanged(ctx, &mine))

	check(t, s.CreateWithID(ctx, 1, was))
	engine.begin(nil, func(n int, commit func() error) error {
		if n > 1 {
			return commit()
		}
		err := lost(commit)
		check(t, other.Save(ctx, &theirs))
		return err
	})
	wantError(t, s.SaveIfUnchanged(ctx, was, &mine), persistable.ErrChanged)
	engine.begin(nil, func(n int, commit func() error) error {
		if n > 1 {
			return commit()
		}
		err := lost(commit)
		check(t, other.Create(ctx, &mine))
		return err
	})
	wantError(t, s.DeleteIfUnchanged(ctx, &theirs), persistable.ErrChanged)
	engine.begin(nil, nil)
	if got := must[*Order](t)(s.Get(ctx, 1)); got.Amount != 1 {
		t.Errorf("stored: %+v", got)
	}
	// The condition of a first attempt is not softened.
	wantError(t, s.SaveIfUnchanged(ctx, was, &mine), persistable.ErrChanged)
	sound(t, s.Indexes().Verify)
}
