// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

var coveringSection = kindIndex{
	index.Definition{Name: "Article_Section", Fields: []string{"Section"}, Cover: true, Signature: "string"},
	func(e *index.Entries, a *Article) { e.End(persistimpl.AppendString(e.Begin(), a.Section)) },
}

// TestRepair damages entries in each way and at random: Verify finds each, Repair
// mends them and nothing else.
func TestRepair(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		random := seed.Rand(t)
		db = openWith(t, db.Engine(), persistable.Options{BuildBatch: 7})
		s := kindStore(db, 0, valueOfTags, uniqueSlug, coveringSection)
		for i := range 40 {
			check(t, s.Create(ctx, smallArticle(i)))
		}
		before := dump(t, db)
		n := damage(t, random, db, before)
		if r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(r.Faults) < n {
			t.Errorf("Verify finds %d faults of %d damaged entries", len(r.Faults), n)
		}
		r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{Repair: true}))
		if r.Repaired < n {
			t.Errorf("%d of %d damaged entries are mended", r.Repaired, n)
		}
		sound(t, s.Indexes().Verify)
		if diff := gocmp.Diff(before, dump(t, db)); diff != "" {
			t.Errorf("not as before the damage (-before +now):\n%s", diff)
		}
	})
}

// damage removes, changes and adds entries, and returns how many.
func damage(t *testing.T, random *rand.Rand, db *persistable.DB, all map[string][]byte) (n int) {
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(key, "\x02I\x00") {
			entries = append(entries, key)
		}
	}
	changes := map[string][]byte{}
	for _, key := range entries {
		switch random.IntN(8) {
		case 0:
			changes[key] = nil
		case 1: // another record's value, or one that the index does not write
			changes[key] = tuple.Tuple{fmt.Sprintf("%03d", random.IntN(60))}.MustPack()
		case 2: // an entry of a record that does not have it, or does not exist
			stray := key[:len(key)-1] + "~\x00"
			changes[stray] = tuple.Tuple{"nobody"}.MustPack()
		}
	}
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		for key, value := range changes {
			if value == nil {
				tx.Clear([]byte(key))
			} else {
				tx.Set([]byte(key), value)
			}
		}
		return nil
	}))
	for key, value := range changes {
		if string(all[key]) != string(value) || value == nil {
			n++
		}
	}
	return n
}

// TestRepairBesideWriters damages entries, and lets writers change the records while
// Repair runs, on an engine that makes every transaction run again. Then no fault is
// left: everything was mended, and no write is undone.
func TestRepairBesideWriters(t *testing.T) {
	random := seed.Rand(t)
	engine := faults.Hostile(enginetest.Open(t), faults.Options{Seed: random.Uint64(), MaxDelay: -1})
	db := openWith(t, engine, persistable.Options{BuildBatch: 9})
	s := kindStore(db, 0, valueOfTags, uniqueSlug, coveringSection)
	for i := range 40 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	for range 4 {
		damage(t, random, db, dump(t, db))
		var group sync.WaitGroup
		for w := range 3 {
			own := rand.New(rand.NewPCG(random.Uint64(), uint64(w)))
			group.Go(func() {
				for range 8 {
					var taken *persistable.UniqueError // by a damaged entry
					if err := writeOnce(own, db, s); err != nil && !errors.As(err, &taken) {
						t.Error(err)
					}
				}
			})
		}
		r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{Repair: true}))
		group.Wait()
		if r.Repaired == 0 {
			t.Error("nothing was mended")
		}
		sound(t, s.Indexes().Verify)
	}
}

// TestRepairUndoesNoWrite gives a record the entry that Repair is about to remove: Repair
// conflicts, and then leaves the entry.
func TestRepairUndoesNoWrite(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s, writer := kindStore(open(t, engine), 0, valueOfTags), kindStore(open(t, engine.Database), 0, valueOfTags)
	a := smallArticle(1)
	a.Tags = []string{"stray"}
	check(t, writer.Create(ctx, a))
	stray := dump(t, open(t, engine.Database))
	a.Tags = nil
	check(t, writer.Save(ctx, a))
	check(t, engine.Transact(ctx, func(tx kv.Transaction) error {
		for key, value := range stray {
			if strings.Contains(key, "\x02I\x00") {
				tx.Set([]byte(key), value)
			}
		}
		return nil
	}))
	attempts := 0
	engine.begin(nil, func(n int, commit func() error) error {
		if attempts = n; n == 1 {
			a.Tags = []string{"stray"}
			check(t, writer.Save(ctx, a))
		}
		return commit()
	})
	must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{Repair: true}))
	if sound(t, s.Indexes().Verify); attempts != 2 {
		t.Errorf("Repair took %d attempts, want a conflict", attempts)
	}
}

// TestVerifyIsResumed ends a verification after each batch: with its token the next call
// goes on, and together they read everything once and find all faults.
func TestVerifyIsResumed(t *testing.T) {
	random := seed.Rand(t)
	db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 6})
	s := kindStore(db, 0, valueOfTags, uniqueSlug, coveringSection, countBySection)
	for i := range 40 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	damage(t, random, db, dump(t, db))
	whole := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
	var sum persistable.Report
	for calls := 0; ; calls++ {
		stop, cancel := context.WithCancelCause(ctx)
		r, err := s.Indexes().Verify(stop, persistable.VerifyOptions{Token: sum.Next, Progress: func(persistable.Report) { cancel(errStopped) }})
		sum.Records, sum.Entries, sum.Faults, sum.Next = sum.Records+r.Records, sum.Entries+r.Entries, append(sum.Faults, r.Faults...), r.Next
		if err == nil {
			if calls < 15 {
				t.Errorf("it was never interrupted: %d calls", calls)
			}
			break
		}
		if !errors.Is(err, errStopped) || r.Next == "" {
			t.Fatalf("call %d: %v, token %q", calls, err, r.Next)
		}
	}
	if diff := gocmp.Diff(whole, sum); diff != "" {
		t.Errorf("the parts are not the whole (-whole +parts):\n%s", diff)
	}
	if _, err := s.Indexes().Verify(ctx, persistable.VerifyOptions{Token: "x"}); !errors.Is(err, persistable.ErrBadToken) {
		t.Errorf("a wrong token: %v", err)
	}
}

// TestRebuildKeepsUnique rebuilds a unique index with an entry that is missing, one without
// a record and one of a wrong owner, while a program tries at each read of the rebuild to
// create a duplicate of each of the other records: none comes in.
func TestRebuildKeepsUnique(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := OrderStoreOf(openWith(t, engine, persistable.Options{BuildBatch: 10}), "t")
	other := OrderStoreOf(open(t, engine.Database), "t")
	check(t, s.CreateMany(ctx, manyOrders(1, 30), persistable.BatchOptions{}))
	damageNumbers(t, engine)

	tries := 0
	engine.begin(func(n int) error {
		duplicate := &Order{ID: idgen.ID(1000 + n), TenantID: "t", Number: fmt.Sprintf("%06d", 10+n%20)}
		if err := other.Create(ctx, duplicate); !errors.As(err, new(*persistable.UniqueError)) {
			t.Errorf("read %d: a duplicate of %s: %v", n, duplicate.Number, err)
		}
		tries++
		return nil
	}, nil)
	err := s.Indexes().Rebuild(ctx, "Order_Number_unique", persistable.BuildOptions{})
	engine.begin(nil, nil)
	check(t, err)
	if tries < 30 {
		t.Errorf("only %d duplicates were tried", tries)
	}
	if report := sound(t, s.Indexes().Verify); len(report.Skipped) > 0 {
		t.Errorf("not readable: %q", report.Skipped)
	}
	if o := must[*Order](t)(s.ByNumber(ctx, "000001")); o.ID != 1 {
		t.Errorf("number 000001 is order %d", o.ID)
	}
}

// damageNumbers clears the entry of order 1, gives that of order 2 to order 3, and adds one
// of a number that no order has.
func damageNumbers(t *testing.T, engine kv.Database) {
	t.Helper()
	check(t, engine.Transact(ctx, func(tx kv.Transaction) error {
		for pair, err := range tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			key, number, found := strings.Cut(string(pair.Key), "Order_Number_unique\x00\x02")
			switch {
			case !found || !strings.Contains(key, "I\x00"):
			case number == "000001\x00":
				tx.Clear(pair.Key)
			case number == "000002\x00":
				tx.Set(pair.Key, tuple.AppendInt(nil, 3))
			case number == "000003\x00":
				tx.Set([]byte(key+"Order_Number_unique\x00\x02nobody\x00"), pair.Value)
			}
		}
		return nil
	}))
}

// TestRebuildOfSharedValues: where records share a value, Rebuild builds the index and
// reports them.
func TestRebuildOfSharedValues(t *testing.T) {
	engine := enginetest.Open(t)
	s := OrderStoreOf(open(t, engine), "t")
	check(t, s.CreateMany(ctx, manyOrders(1, 5), persistable.BatchOptions{}))
	damageNumbers(t, engine)
	check(t, s.CreateWithID(ctx, 9, &Order{TenantID: "t", Number: "000001"}))
	e := wantAs[*persistable.NotUniqueError](t, s.Indexes().Rebuild(ctx, "Order_Number_unique", persistable.BuildOptions{}))
	if len(e.Violations) != 1 {
		t.Errorf("%+v", e.Violations)
	}
	check(t, s.Delete(ctx, 9))
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	sound(t, s.Indexes().Verify)
}

// TestViolationsArePaged builds a unique index over 240 records of which each value has
// three: all 160 violations are listed, each once, the list follows as they are solved
// one by one, and the index becomes readable in the end.
func TestViolationsArePaged(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old, s := kindStore(db, 0), kindStore(db, 0, uniqueSlug)
	for i := range 240 {
		a := smallArticle(i)
		a.Slug = fmt.Sprint(i % 80)
		check(t, old.Create(ctx, a))
	}
	e := wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	if len(e.Violations) != 100 || !e.More {
		t.Errorf("the error has %d violations, more: %v", len(e.Violations), e.More)
	}
	ids := violatingIDs(t, s)
	if len(ids) != 160 {
		t.Fatalf("%d violations, want 160", len(ids))
	}
	for i, id := range ids[:3] {
		check(t, s.Delete(ctx, id))
		if left := violatingIDs(t, s); len(left) != 159-i {
			t.Errorf("%d violations after %d were solved", len(left), i+1)
		}
	}
	check(t, s.Delete(ctx, "000")) // an owner of a value that 080 has, too
	if left := violatingIDs(t, s); len(left) != 156 {
		t.Errorf("%d violations after an owner went, want 156", len(left))
	}
	for _, id := range violatingIDs(t, s) {
		check(t, s.Delete(ctx, id))
	}
	if left := violatingIDs(t, s); len(left) > 0 {
		t.Errorf("%d violations are left", len(left))
	}
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	sound(t, s.Indexes().Verify)
}

// violatingIDs returns the ids of all violations of uniqueSlug, page by page.
func violatingIDs(t *testing.T, s *ArticleStore) (ids []string) {
	t.Helper()
	seen := map[string]bool{}
	for token := ""; ; {
		page := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, uniqueSlug.KeyName(), token))
		for _, v := range page.Violations {
			id := v.ID.(string)
			if seen[id] || v.Owner == id {
				t.Errorf("a wrong violation: %+v", v)
			}
			seen[id] = true
			ids = append(ids, id)
		}
		if token = page.Next; token == "" {
			return ids
		}
	}
}

// TestViolationsOfAnotherDirectory: the token of a page outlives the directory. In another one
// at the same path the list begins anew, and no keys between the two are read.
func TestViolationsOfAnotherDirectory(t *testing.T) {
	db := open(t, enginetest.Open(t))
	old, s := kindStore(db, 0), kindStore(db, 0, uniqueSlug)
	fill := func() {
		for i := range 130 {
			a := smallArticle(i)
			a.Slug = fmt.Sprint(i % 10)
			check(t, old.Create(ctx, a))
		}
		wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	}
	fill()
	first := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, uniqueSlug.KeyName(), ""))
	for range 4 { // prefixes are drawn at random: before and after the one of the token
		check(t, db.RemoveDirectory(ctx, s.Path()...))
		fill()
		page := must[persistable.ViolationPage](t)(s.Indexes().Violations(ctx, uniqueSlug.KeyName(), first.Next))
		if len(page.Violations) == 0 || page.Violations[0].ID != first.Violations[0].ID {
			t.Errorf("the page has %d violations, want those of the first page", len(page.Violations))
		}
	}
}

func TestViolationsOfWrongArguments(t *testing.T) {
	s := kindStore(open(t, enginetest.Open(t)), 0, uniqueSlug, valueOfTags)
	wantError(t, second(s.Indexes().Violations(ctx, valueOfTags.Name, "")), persistable.ErrNoIndex)
	if _, err := s.Indexes().Violations(ctx, uniqueSlug.KeyName(), "x"); !errors.Is(err, persistable.ErrBadToken) {
		t.Errorf("a wrong token: %v", err)
	}
}
