// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestIndexesAgainstAMap runs random writes against a map and compares what all
// queries say.
func TestIndexesAgainstAMap(t *testing.T) {
	t.Parallel()
	t.Run("plain", rapid.MakeCheck(func(rt *rapid.T) { runModel(t, rt, enginetest.Open(t), 0) }))
	t.Run("hostile", rapid.MakeCheck(func(rt *rapid.T) {
		engine := faults.Hostile(enginetest.Open(t), faults.Options{Seed: rapid.Uint64().Draw(rt, "seed"), MaxDelay: -1})
		runModel(t, rt, engine, 5)
	}))
}

type model struct {
	db    *persistable.DB
	store *ArticleStore
	map_  map[string]*Article // by id

	seldom int // compare at one step in so many more
}

func runModel(t *testing.T, rt *rapid.T, engine kv.Database, seldom int) {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		rt.Fatal(err)
	}
	defer closeDB(t, db)
	m := &model{db: db, store: ArticleStoreOf(db), map_: map[string]*Article{}, seldom: seldom}
	rt.Repeat(map[string]func(*rapid.T){
		"create":      func(rt *rapid.T) { m.put(rt, m.store, true) },
		"save":        func(rt *rapid.T) { m.put(rt, m.store, false) },
		"delete":      func(rt *rapid.T) { m.delete(rt, m.store) },
		"transaction": m.transaction,
		"":            m.compare,
	})
	report, err := m.store.Indexes().Verify(ctx, persistable.VerifyOptions{})
	if err != nil || len(report.Faults) > 0 {
		rt.Fatalf("Verify: %v %v", report.Faults, err)
	}
}

var (
	smallString = rapid.SampledFrom([]string{"", "a", "a\x00", "b", "\x00"})
	smallTime   = rapid.SampledFrom([]time.Time{{}, time.Unix(-1, 0).UTC(), time.Unix(0, 0).UTC(), day0, day1})
	smallID     = rapid.SampledFrom([]string{"1", "2", "3", "4", "1\x00"})
	body        = rapid.SampledFrom([][]byte{nil, []byte("x"), make([]byte, 99_950), make([]byte, 210_000)})
)

func drawArticle(rt *rapid.T) *Article {
	return &Article{
		ID: smallID.Draw(rt, "id"), Section: smallString.Draw(rt, "section"), Slug: smallString.Draw(rt, "slug"),
		ISBN: rapid.Ptr(smallString, true).Draw(rt, "isbn"), Editor: rapid.Ptr(smallString, true).Draw(rt, "editor"),
		Tags: rapid.SliceOfN(smallString, 0, 3).Draw(rt, "tags"), Published: smallTime.Draw(rt, "published"), Body: body.Draw(rt, "body"),
	}
}

// put writes through a store and says what the map would say.
func (m *model) put(rt *rapid.T, s *ArticleStore, mustBeNew bool) {
	a := drawArticle(rt)
	var err error
	if mustBeNew {
		err = s.Create(ctx, a)
	} else {
		err = s.Save(ctx, a)
	}
	owner := m.owner(a)
	var unique *persistable.UniqueError
	switch _, exists := m.map_[a.ID]; {
	case mustBeNew && exists:
		if !errors.Is(err, persistable.ErrExists) {
			rt.Fatalf("Create over a record: %v", err)
		}
	case owner != nil:
		if !errors.As(err, &unique) || !slices.Contains(owner, unique.Owner.(string)) {
			rt.Fatalf("the values are those of %v: %v", owner, err)
		}
	case err != nil:
		rt.Fatal(err)
	default:
		m.map_[a.ID] = a
	}
}

// owner returns the ids of the records that have a's unique values.
func (m *model) owner(a *Article) (ids []string) {
	for id, o := range m.map_ {
		if id == a.ID {
			continue
		}
		if o.Section == a.Section && o.Slug == a.Slug || o.ISBN != nil && a.ISBN != nil && *o.ISBN == *a.ISBN {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *model) delete(rt *rapid.T, s *ArticleStore) {
	id := smallID.Draw(rt, "id")
	if err := s.Delete(ctx, id); err != nil {
		rt.Fatal(err)
	}
	delete(m.map_, id)
}

var errGivenUp = errors.New("given up")

// transaction makes several writes in one transaction, which the test may give
// up. Draws cannot be repeated, so it is opened by hand.
func (m *model) transaction(rt *rapid.T) {
	before := map[string]*Article{}
	for id, a := range m.map_ {
		before[id] = a
	}
	tx, err := m.db.Engine().Begin()
	if err != nil {
		rt.Fatal(err)
	}
	defer tx.Cancel()
	bound := m.store.In(m.db.In(tx))
	failed := func() error {
		for range rapid.IntRange(1, 4).Draw(rt, "writes") {
			if err := m.step(rt, bound); err != nil {
				return err
			}
		}
		if rapid.Bool().Draw(rt, "give up") {
			return errGivenUp
		}
		return tx.Commit(ctx)
	}()
	if failed == nil {
		return
	}
	if failed != errGivenUp && !kv.IsRetryable(failed) {
		rt.Fatal(failed)
	}
	m.map_ = before
	if kv.IsMaybeCommitted(failed) {
		m.reload(rt)
	}
}

// step is one write of a transaction. An engine's error ends the transaction.
func (m *model) step(rt *rapid.T, s *ArticleStore) error {
	if rapid.Bool().Draw(rt, "delete") {
		id := smallID.Draw(rt, "id")
		if err := s.Delete(ctx, id); err != nil {
			return err
		}
		delete(m.map_, id)
		return nil
	}
	a := drawArticle(rt)
	err := s.Save(ctx, a)
	if kv.CodeOf(err) != 0 {
		return err
	}
	if owner := m.owner(a); owner != nil {
		var unique *persistable.UniqueError
		if !errors.As(err, &unique) {
			rt.Fatalf("the values are those of %v: %v", owner, err)
		}
		return nil
	}
	if err == nil {
		m.map_[a.ID] = a
	}
	return err
}

// reload takes the stored records as they are, when it is not known whether a
// transaction committed.
func (m *model) reload(rt *rapid.T) {
	all, err := m.store.Scan().Slice(ctx)
	if err != nil {
		rt.Fatal(err)
	}
	m.map_ = map[string]*Article{}
	for _, a := range all {
		m.map_[a.ID] = a
	}
}

// sorted returns the ids of the articles that keep lets pass, by key and id.
func (m *model) sorted(key func(*Article) string, keep func(*Article) bool) []string {
	ids := []string{}
	for id, a := range m.map_ {
		if keep(a) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(strings.Compare(key(m.map_[a]), key(m.map_[b])), strings.Compare(a, b))
	})
	return ids
}

func timeKey(at time.Time) string {
	return fmt.Sprintf("%020d.%09d", at.Unix()+1<<40, at.Nanosecond())
}

// compare asks all queries, in one transaction.
func (m *model) compare(rt *rapid.T) {
	if rapid.IntRange(0, m.seldom).Draw(rt, "seldom") > 0 {
		return
	}
	err := m.db.ReadTransact(ctx, func(tx persistable.Tx) error { return m.queries(rt, m.store.In(tx)) })
	if err != nil {
		rt.Fatal(err)
	}
}

func (m *model) queries(rt *rapid.T, s *ArticleStore) (failed error) {
	same := func(name string, q *persistable.Query[*Article], want []string) {
		if failed != nil {
			return
		}
		got, err := q.Slice(ctx)
		if err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
			return
		}
		ids := []string{}
		for _, a := range got {
			ids = append(ids, a.ID)
			if want := m.map_[a.ID]; want == nil || encoded(want) != encoded(a) {
				rt.Fatalf("%s: record %+v, want %+v", name, a, want)
			}
		}
		if diff := gocmp.Diff(want, ids); diff != "" {
			rt.Fatalf("%s (-want +got):\n%s", name, diff)
		}
	}
	any_ := func(*Article) bool { return true }
	byID := func(*Article) string { return "" }
	same("by id", s.Scan(), m.sorted(byID, any_))
	reversed := m.sorted(byID, any_)
	slices.Reverse(reversed)
	same("by id, reverse", s.Scan().Reverse(), reversed)
	same("by published", s.OrderedByPublished().Query(), m.sorted(func(a *Article) string { return timeKey(a.Published) }, any_))
	same("before 1970", s.OrderedByPublished().Before(time.Unix(0, 0)).Query(),
		m.sorted(func(a *Article) string { return timeKey(a.Published) }, func(a *Article) bool { return a.Published.Unix() < 0 }))
	for _, v := range []string{"", "a", "a\x00", "\x00"} {
		same("by tag", s.ByTags(v), m.sorted(byID, func(a *Article) bool { return slices.Contains(a.Tags, v) }))
		same("by editor", s.ByEditor(&v), m.sorted(byID, func(a *Article) bool { return a.Editor != nil && *a.Editor == v }))
		same("section from day0, covering", s.BySectionPublished(v).From(day0).Query(), m.sorted(
			func(a *Article) string { return timeKey(a.Published) }, func(a *Article) bool { return a.Section == v && !a.Published.Before(day0) }))
		same("section and slug after", s.BySectionThenSlug(v).After("a").Query(), m.sorted(
			func(a *Article) string { return a.Slug }, func(a *Article) bool { return a.Section == v && a.Slug > "a" }))
		want := m.sorted(byID, func(a *Article) bool { return a.ISBN != nil && *a.ISBN == v })
		got, err := s.ByISBN(ctx, &v)
		if failed = cmp.Or(failed, ignore(err, persistable.ErrNotFound)); failed != nil {
			return failed
		}
		if len(want) == 0 && !errors.Is(err, persistable.ErrNotFound) || len(want) == 1 && (err != nil || got.ID != want[0]) {
			rt.Fatalf("by ISBN %q: %v %v, want %v", v, got, err, want)
		}
	}
	same("no editor", s.ByEditor(nil), m.sorted(byID, func(a *Article) bool { return a.Editor == nil }))
	return failed
}

// encoded tells records apart faster than go-cmp does where they are large.
func encoded(a *Article) string {
	b, _ := appendArticle(nil, a)
	return string(b)
}
