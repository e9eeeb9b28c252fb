// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// allOf returns the records of a scan and its error.
func allOf[T any](s *persistable.Scan[T]) (all []T, failed error) {
	for v, err := range s.All(ctx) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// TestScanTokens gives the token of a scan to scans of other queries.
func TestScanTokens(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	s := OrderStoreOf(db, "t")
	someOrders(t, s, 9)
	scan := persistable.Across(s.ByStatusCreatedAt(Pending).Query(), "")
	readSome(t, scan, 1)
	token := scan.Token()
	if !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(token) {
		t.Errorf("the token %q does not fit into a URL as it is", token)
	}
	again := OrderStoreOf(open(t, engine), "t")
	if rest := must[[]*Order](t)(allOf(persistable.Across(again.ByStatusCreatedAt(Pending).Query(), token))); len(rest) != 2 {
		t.Errorf("another DB goes on with %v", numbers(rest))
	}
	page := must[persistable.Page[*Order]](t)(s.ByStatusCreatedAt(Pending).Limit(1).Page(ctx, "")).Next
	_, err := s.ByStatusCreatedAt(Pending).Page(ctx, token)
	wantError(t, err, persistable.ErrBadToken)
	for name, other := range map[string]*persistable.Scan[*Order]{
		"other value":     persistable.Across(s.ByStatusCreatedAt(Paid).Query(), token),
		"other bound":     persistable.Across(s.ByStatusCreatedAt(Pending).From(day0).Query(), token),
		"other direction": persistable.Across(s.ByStatusCreatedAt(Pending).Reverse().Query(), token),
		"by id":           persistable.Across(s.Scan(), token),
		"other tenant":    persistable.Across(OrderStoreOf(db, "u").ByStatusCreatedAt(Pending).Query(), token),
		"a page's token":  persistable.Across(s.ByStatusCreatedAt(Pending).Query(), page),
		"a cut token":     persistable.Across(s.ByStatusCreatedAt(Pending).Query(), token[1:]),
	} {
		all, err := allOf(other)
		if wantError(t, err, persistable.ErrBadToken); len(all) > 0 {
			t.Errorf("%s: the scan has %v", name, numbers(all))
		}
		_, err = other.Split(ctx, 2)
		if wantError(t, err, persistable.ErrBadToken); other.Token() == "" {
			t.Errorf("%s: the scan forgets its token", name)
		}
	}
}

// TestScanLimits counts a limit down over tokens, and a filter's limit anew.
func TestScanLimits(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	someOrders(t, s, 12)
	for _, q := range []*persistable.Query[*Order]{s.OrderedByNumber().Limit(5).Query(), found[*Order](t)(s.Find(OrderFields.Status.In(Pending, Paid, Shipped))).Limit(5)} {
		scan, total := persistable.Across(q, ""), 0
		for range 4 {
			total += len(readSome(t, scan, 2))
			scan = persistable.Across(q, scan.Token())
		}
		if total != 5 {
			t.Errorf("the scan has %d records", total)
		}
		if _, err := scan.Split(ctx, 2); err == nil {
			t.Error("a scan with a limit is divided")
		}
	}
	scan := persistable.Across(found[*Order](t)(s.AllowScan().Find(OrderFields.Amount.From(0))).FilterLimit(5), "")
	for i, want := range []int{5, 5, 2} {
		all, err := allOf(scan)
		if len(all) != want {
			t.Errorf("call %d of All has %d records", i, len(all))
		}
		if want == 5 {
			wantError(t, err, persistable.ErrFilterLimit)
		}
	}
}

// TestScanRefuses lists what cannot be scanned or divided.
func TestScanRefuses(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	if parts := must[[]*persistable.Scan[*Order]](t)(persistable.Across(s.Scan(), "").Split(ctx, 3)); len(parts) != 1 {
		t.Errorf("no records are %d parts", len(parts))
	}
	if _, err := persistable.Across(s.Scan(), "").Split(ctx, 0); err == nil {
		t.Error("a scan has no parts")
	}
	if _, err := allOf(persistable.Across((&OrderStore{}).Scan(), "")); err == nil {
		t.Error("the zero store is scanned")
	}
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		if _, err := allOf(persistable.Across(s.In(tx).Scan(), "")); err == nil {
			t.Error("a query of a transaction is scanned across transactions")
		}
		return nil
	}))
}

// TestScanAfterErrors lets each read of a scan fail in turn, with an error that ends the
// scan: called again, it goes on after the last record, and so does one with its token.
func TestScanAfterErrors(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	notes, orders := NoteStoreOf(db), OrderStoreOf(db, "t")
	for id := range int64(9) {
		check(t, notes.Save(ctx, &Note{ID: id + 1, Text: "text"}))
	}
	someOrders(t, orders, 9)
	f := OrderFields
	failEach(t, engine, notes.Scan())
	failEach(t, engine, orders.OrderedByNumber().Reverse().Query())
	failEach(t, engine, found[*Order](t)(orders.Find(f.Status.In(Pending, Paid), f.Amount.From(2))))
	failEach(t, engine, found[*Order](t)(orders.Find(persistable.Or(f.Status.Equal(Paid), f.Number.From("03")))))
}

func failEach[T any](t *testing.T, engine *faulty, q *persistable.Query[T]) {
	t.Helper()
	want, broken := must[[]T](t)(q.Slice(ctx)), errors.New("made up")
	for failing, failed := 1, true; failed; failing++ {
		failed = false
		engine.begin(func(n int) error {
			if failed = failed || n == failing; n == failing {
				return broken
			}
			return nil
		}, nil)
		scan := persistable.Across(q, "")
		got, err := allOf(scan)
		if failed {
			wantError(t, err, broken)
			if failing%2 == 0 {
				scan = persistable.Across(q, scan.Token())
			}
			rest := must[[]T](t)(allOf(scan))
			got = append(got, rest...)
		}
		if diff := compare(want, got); diff != "" {
			t.Errorf("after a failure of read %d (-want +got):\n%s", failing, diff)
		}
	}
	engine.begin(nil, nil)
}

// TestScanStopsAtADamagedRow reads a row that cannot be read: the scan does not go on
// after it.
func TestScanStopsAtADamagedRow(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := SaleStoreOf(db)
	for i := range 5 {
		check(t, s.Save(ctx, &Sale{ID: fmt.Sprint(i), Country: "at", Amount: int64(i), CreatedAt: day0}))
	}
	damageRow(t, db)
	scan := persistable.AcrossRows(s.ByCountryAmountRows("at").Query(), "")
	for i, want := range []int{2, 0, 0} {
		if rows, err := allOf(scan); err == nil || len(rows) != want {
			t.Errorf("call %d of All: %d rows, %v", i, len(rows), err)
		}
		scan = persistable.AcrossRows(s.ByCountryAmountRows("at").Query(), scan.Token())
	}
}

// damageRow makes the copies of the third entry of Sale_Country_Amount unreadable.
func damageRow(t *testing.T, db *persistable.DB) {
	t.Helper()
	var keys []string
	for key := range dump(t, db) {
		if regexp.MustCompile("Sale_Country_Amount\x00.*at\x00").MatchString(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte(keys[2]), []byte{0xff})
		return nil
	}))
}

// TestScanOverVersions reads one record a second while the store changes: for five seconds
// the scan sees the version at which it began, and from then on a later one.
func TestScanOverVersions(t *testing.T) {
	unscattered(t)
	synctest.Test(t, func(t *testing.T) {
		engine := must[*embedded.Database](t)(embedded.OpenMemory()) // its clock is the bubble's
		db := open(t, engine)
		s := ArticleStoreOf(db)
		save := func(id, section string) {
			check(t, s.Save(ctx, &Article{ID: id, Section: section, Slug: id, Published: day0, Body: make([]byte, 5000)}))
		}
		for i := range 12 {
			save(fmt.Sprintf("%02d", i), "old")
		}
		scan := persistable.Across(s.Scan(), "")
		var got []string
		for a, err := range scan.All(ctx) {
			check(t, err)
			if got = append(got, a.ID+" "+a.Section); len(got) == 1 {
				for _, id := range []string{"02", "03a", "10", "10a"} {
					save(id, "new")
				}
				check(t, s.Delete(ctx, "03"))
				check(t, s.Delete(ctx, "09"))
			}
			time.Sleep(time.Second)
		}
		want := []string{"00 old", "01 old", "02 old", "03 old", "04 old", "05 old", "06 old", "07 old", "08 old", "10 new", "10a new", "11 old"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		check(t, db.Close())
		check(t, engine.Close())
	})
}

// TestSlowReadsEnd lets each read take longer than a version can be read: an operation
// that begins anew in each attempt, or goes on at the same place, ends after three.
func TestSlowReadsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &faulty{Database: enginetest.InProcess(t)}
		db := open(t, engine)
		s, notes, sales, game := ArticleStoreOf(db), NoteStoreOf(db), SaleStoreOf(db), PlayerStoreOf(db)
		check(t, s.Save(ctx, &Article{ID: "1", Section: "s", Slug: "1", Published: day0, Editor: ptr("ann")}))
		check(t, notes.Save(ctx, &Note{ID: 1}))
		check(t, game.Save(ctx, &Player{ID: 1, Game: "go"}))
		check(t, sales.Save(ctx, &Sale{ID: "1", Country: "at"}))
		q := found[*Article](t)(s.Find(ArticleFields.Editor.In(ptr("ann"), nil)))
		all := func(q *persistable.Query[*Article]) error {
			for _, err := range q.All(ctx) {
				return err
			}
			return nil
		}
		for name, run := range map[string]func() error{
			"Get":     func() error { return second(s.Get(ctx, "1")) },
			"GetMany": func() error { return second(s.GetMany(ctx, []string{"1", "2"})) },
			"Slice":   func() error { return second(s.OrderedByEditor().Slice(ctx)) },
			"Count":   func() error { return second(s.Scan().Count(ctx)) },
			"First":   func() error { return second(q.First(ctx)) },
			"Page":    func() error { return second(q.Page(ctx, "")) },
			"All":     func() error { return all(s.Scan()) },
			"lanes":   func() error { return all(q) },
			"Across":  func() error { return second(allOf(persistable.Across(s.Scan(), ""))) },
			"Split":   func() error { return second(persistable.Across(s.Scan(), "").Split(ctx, 2)) },
			"Explain": func() error { return second(q.Explain(ctx)) },
			"Verify":  func() error { return second(s.Indexes().Verify(ctx, persistable.VerifyOptions{})) },
			"Changes": func() error { return changesError(notes) },
			"NthBy":   func() error { return second(game.NthByScore(ctx, 0)) },
			"count":   func() error { return second(sales.CountAll(ctx)) },
			"extreme": func() error {
				_, _, err := sales.MinAmountByCountry(ctx, "at")
				return err
			},
			"groups": func() error {
				for _, err := range sales.CountsByStatusCountry(ctx) {
					return err
				}
				return nil
			},
			"Transact": func() error {
				return db.ReadTransact(ctx, func(tx persistable.Tx) error { return all(s.In(tx).Scan()) })
			},
		} {
			reads := 0
			engine.begin(func(int) error {
				if reads++; reads > 100 {
					return errStop
				}
				time.Sleep(kv.MaxTransactionAge + time.Second)
				return kv.NewError(kv.CodeTransactionTooOld, "made up")
			}, nil)
			err := run()
			var ended *kv.RetryError
			if !errors.As(err, &ended) || ended.Attempts != 3 {
				t.Errorf("%s: %v after %d reads", name, err, reads)
			}
		}
		engine.begin(nil, nil)
	})
}

func changesError(s *NoteStore) error {
	for _, err := range s.Feed().Changes(ctx, persistable.Version{}) {
		return err
	}
	return nil
}

// TestSlowReadsGoOn reads records of which a version that can be read has time for one: each
// attempt goes on after the one before.
func TestSlowReadsGoOn(t *testing.T) {
	unscattered(t)
	synctest.Test(t, func(t *testing.T) {
		inner := must[*embedded.Database](t)(embedded.OpenMemory()) // its clock is the bubble's
		engine := &faulty{Database: inner}
		db := open(t, engine)
		s, n := ArticleStoreOf(db), 10
		for i := range n {
			check(t, s.Save(ctx, &Article{ID: fmt.Sprint(i), Section: "s", Slug: fmt.Sprint(i), Published: day0, Editor: ptr("ann"), Tags: []string{"x"}}))
		}
		engine.slowBatch = kv.MaxTransactionAge/2 + time.Second
		for name, q := range map[string]*persistable.Query[*Article]{
			"records": s.Scan(),
			"index":   s.OrderedByEditor().Query(),
		} {
			for what, count := range map[string]func() (int, error){
				"Slice": func() (int, error) { all, err := q.Slice(ctx); return len(all), err },
				"Count": func() (int, error) { return q.Count(ctx) },
				"Page":  func() (int, error) { p, err := q.Page(ctx, ""); return len(p.Records), err },
				"scan":  func() (int, error) { all, err := allOf(persistable.Across(q, "")); return len(all), err },
			} {
				if got, err := count(); err != nil || got != n {
					t.Errorf("%s of %s: %d, %v", what, name, got, err)
				}
			}
		}
		engine.slowBatch = 0
		check(t, db.Close())
		check(t, inner.Close())
	})
}
