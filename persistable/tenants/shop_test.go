// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// The types of the tests. Their stores are written by hand in the form that persistgen
// writes.

type OrderStatus int

const (
	Pending OrderStatus = iota
	Paid
	Shipped
)

type Order struct {
	_ persistable.Type      `persist:"Order"`
	_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
	_ persistable.Index     `persist:"Status,CreatedAt"`
	_ persistable.Unique    `persist:"Number"`

	ID        idgen.ID
	TenantID  string
	Number    string
	Status    OrderStatus `persist:"index"`
	CreatedAt time.Time
	Amount    int64
}

// Bid has an index of each kind but the ordinary one.
type Bid struct {
	_ persistable.Type      `persist:"Bid"`
	_ persistable.Directory `persist:"auctions/{House}/bids"`
	_ persistable.Count     `persist:"by=Lot"`
	_ persistable.Sum       `persist:"Amount,by=Lot"`
	_ persistable.Rank      `persist:"Amount,by=Lot"`

	ID      int64
	House   string
	Lot     string
	Amount  int64
	Version persistable.Version
}

// Note has an index over the tenant's name if indexed is set, records of any size, and
// a directory that is not a partition.
type Note struct {
	_ persistable.Type      `persist:"Note"`
	_ persistable.Directory `persist:"rooms/{Room}/notes"`
	_ persistable.Index     `persist:"Title,cover"`

	ID    int64
	Room  string
	Title string
	Body  []byte
}

// someBids makes bids on two lots, raises some and withdraws some.
func someBids(t testing.TB, s *BidStore) {
	t.Helper()
	for i := range int64(20) {
		check(t, s.Save(ctx, s.New(Bid{ID: i + 1, Lot: fmt.Sprint("lot ", i%2), Amount: i * 7 % 31})))
	}
	for id := int64(3); id < 20; id += 5 {
		check(t, s.Update(ctx, id, func(b *Bid) error { b.Amount += 10; return nil }))
		check(t, s.Delete(ctx, id+1))
	}
}

// bidAnswers are what the indexes of bids say.
type bidAnswers struct {
	Counts, Sums, Ranks []int64
	Ordered             []int64 // ids, the highest bid first
	Changes             []string
	Versions            []persistable.Version // of the records, by id
}

func askBids(t testing.TB, s *BidStore) (a bidAnswers) {
	t.Helper()
	for _, lot := range []string{"lot 0", "lot 1", "no lot"} {
		a.Counts = append(a.Counts, must[int64](t)(s.CountByLot(ctx, lot)))
		a.Sums = append(a.Sums, must[int64](t)(s.SumAmountByLot(ctx, lot)))
		for amount := int64(0); amount < 45; amount += 5 {
			a.Ranks = append(a.Ranks, must[int64](t)(s.RankOfAmountByLot(ctx, lot, amount)))
		}
		for _, b := range must[[]*Bid](t)(s.TopByAmountByLot(ctx, lot, 100)) {
			a.Ordered = append(a.Ordered, b.ID)
		}
	}
	for c, err := range s.Feed().Changes(ctx, persistable.Version{}) {
		check(t, err)
		a.Changes = append(a.Changes, fmt.Sprint(c.Version, c.ID, c.Deleted))
	}
	for b, err := range s.Scan().All(ctx) {
		check(t, err)
		a.Versions = append(a.Versions, b.Version)
	}
	return a
}

// TestKindsOfIndexes copies, moves, exports and imports a tenant with counts, sums, ranks
// and versions: each answer is the same afterwards, and writes change it there only.
func TestKindsOfIndexes(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "auctions")
		someBids(t, BidStoreOf(db, "a"))
		want := askBids(t, BidStoreOf(db, "a"))
		if len(want.Ordered) != 16 || want.Counts[0]+want.Counts[1] != 16 || len(want.Changes) != 20 || len(want.Versions) != 16 {
			t.Fatalf("before: %+v", want)
		}
		must[tenants.Progress](t)(all.Import(ctx, "import", bytes.NewReader(locked(t, all, "a")), tenants.ImportOptions{}))
		lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "copy"))
		must[tenants.Progress](t)(all.Copy(ctx, "a", "copy", tenants.CopyOptions{Lock: lock}))
		must[tenants.Progress](t)(all.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock}))
		check(t, all.Unlock(ctx, lock))
		check(t, all.Move(ctx, "b", "moved"))
		for _, name := range []string{"copy", "import", "moved"} {
			s := BidStoreOf(db, name)
			if diff := cmp.Diff(want, askBids(t, s)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", name, diff)
			}
			sound(t, s.Indexes().Verify)
			changeBids(t, s, want)
			sound(t, s.Indexes().Verify)
		}
		if diff := cmp.Diff(want, askBids(t, BidStoreOf(db, "a"))); diff != "" {
			t.Errorf("the original has changed (-want +got):\n%s", diff)
		}
	})
}

// changeBids makes a bid above all others and checks what its store answers then.
func changeBids(t *testing.T, s *BidStore, was bidAnswers) {
	t.Helper()
	check(t, s.Save(ctx, s.New(Bid{ID: 100, Lot: "lot 0", Amount: 1000})))
	is := askBids(t, s)
	if is.Counts[0] != was.Counts[0]+1 || is.Sums[0] != was.Sums[0]+1000 || is.Ordered[0] != 100 {
		t.Errorf("after a bid of 1000: %+v", is)
	}
	if n := must[int64](t)(s.RankOfAmountByLot(ctx, "lot 0", 1000)); n != was.Counts[0] {
		t.Errorf("%d bids are below the highest, want %d", n, was.Counts[0])
	}
	if diff := cmp.Diff(was.Changes, is.Changes[:len(is.Changes)-1]); diff != "" {
		t.Errorf("the new bid is not the last change (-want +got):\n%s", diff)
	}
}
