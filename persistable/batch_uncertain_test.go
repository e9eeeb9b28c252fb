// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestUncertainBehindLaterTransactions: the first attempt has eight records, and its
// acknowledgement is lost. Another process deletes the seventh record. The attempts after it
// have fewer records and are seen to commit, until they stop at the seventh: the eighth, which
// the first attempt has written, is uncertain.
func TestUncertainBehindLaterTransactions(t *testing.T) {
	for name, dropped := range map[string]bool{"committed": false, "dropped": true} {
		t.Run(name, func(t *testing.T) {
			e := &enginetest.Lossy{Database: enginetest.Open(t)}
			s, other := OrderStoreOf(open(t, e), "t"), OrderStoreOf(open(t, e.Database), "t")
			check(t, s.CreateMany(ctx, manyOrders(1, 8), persistable.BatchOptions{}))
			changed := manyOrders(1, 8)
			for _, o := range changed {
				o.Amount = 77
			}
			e.Lose(dropped, func() error { return other.Delete(ctx, changed[6].ID) })
			p := wantAs[*persistable.PartialError](t, saveExistingMany(s, changed, persistable.BatchOptions{Records: 8}))
			if p.Done != 6 || p.Uncertain != 2 || !errors.Is(p, persistable.ErrNotFound) {
				t.Errorf("done %d, uncertain %d: %v", p.Done, p.Uncertain, p)
			}
			if o := must[*Order](t)(s.Get(ctx, changed[7].ID)); (o.Amount == 77) == dropped {
				t.Errorf("the last record has the amount %d", o.Amount)
			}
		})
	}
}

// TestCertainBehindLostAcknowledgement: once as many records were seen to be written as an
// attempt of unknown outcome had, nothing is uncertain.
func TestCertainBehindLostAcknowledgement(t *testing.T) {
	e := &enginetest.Lossy{Database: enginetest.Open(t)}
	s := OrderStoreOf(open(t, e), "t")
	check(t, s.CreateMany(ctx, manyOrders(1, 10), persistable.BatchOptions{}))
	e.Lose(false, nil)
	p := wantAs[*persistable.PartialError](t, saveExistingMany(s, manyOrders(1, 11), persistable.BatchOptions{Records: 4}))
	if p.Done != 10 || p.Uncertain != 0 {
		t.Errorf("done %d, uncertain %d: %v", p.Done, p.Uncertain, p)
	}
}

// TestSavedOverLostAcknowledgement: the second order gives its number to the third. After a
// lost acknowledgement a repetition would find the number taken. The orders are there
// already, so none is created, whose token would tell that the attempt has committed.
func TestSavedOverLostAcknowledgement(t *testing.T) {
	for name, dropped := range map[string]bool{"committed": false, "dropped": true} {
		t.Run(name, func(t *testing.T) {
			e := &enginetest.Lossy{Database: enginetest.Open(t)}
			s := OrderStoreOf(open(t, e), "t")
			all := manyOrders(1, 5)
			check(t, s.CreateMany(ctx, all, persistable.BatchOptions{}))
			given, giver, taker, fault := *all[1], *all[1], *all[2], *all[3]
			given.Number, giver.Number, taker.Number, fault.Number = "given", "other", "given", all[4].Number
			e.Lose(dropped, nil)
			p := wantAs[*persistable.PartialError](t, s.SaveMany(ctx, []*Order{all[0], &given, &giver, &taker, &fault}, persistable.BatchOptions{}))
			taken := wantAs[*persistable.UniqueError](t, p)
			if p.Done != 4 || p.Uncertain > 1 || taken.Owner != any(all[4].ID) {
				t.Errorf("done %d, uncertain %d: %v", p.Done, p.Uncertain, p)
			}
			if o := must[*Order](t)(s.ByNumber(ctx, "given")); o.ID != taker.ID {
				t.Errorf("order %d has the number", o.ID)
			}
			sound(t, s.Indexes().Verify)
		})
	}
}
