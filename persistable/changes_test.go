// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// noteChange is the last change of a note, as the tests know it.
type noteChange struct {
	id      int64
	text    string
	deleted bool
}

// changesOf reads all changes after a version.
func changesOf(t testing.TB, s *NoteStore, since persistable.Version) (all []noteChange, versions []persistable.Version) {
	t.Helper()
	for c, err := range s.Feed().Changes(ctx, since) {
		check(t, err)
		is := noteChange{id: c.ID, deleted: c.Deleted}
		if !c.Deleted {
			is.text = c.Record.Text
			if c.Record.ID != c.ID || c.Record.Version != c.Version {
				t.Fatalf("the change of %d at %v has the record %+v", c.ID, c.Version, c.Record)
			}
		}
		all, versions = append(all, is), append(versions, c.Version)
	}
	return all, versions
}

// TestChangesModel writes notes at random, several times in a transaction, and compares the
// changes with a list, and each way to read a note's version with its change.
func TestChangesModel(t *testing.T) {
	rng, db := seed.Rand(t), open(t, enginetest.Open(t))
	s := NoteStoreOf(db)
	var feed []noteChange
	for range 120 {
		var inTransaction []noteChange
		check(t, db.Transact(ctx, func(tx persistable.Tx) (err error) {
			inTransaction, err = changeNotes(s.In(tx), rng, feed)
			return err
		}))
		for _, c := range inTransaction {
			feed = slices.DeleteFunc(feed, func(old noteChange) bool { return old.id == c.id })
		}
		feed = append(feed, inTransaction...)
		got, versions := changesOf(t, s, persistable.Version{})
		if !slices.Equal(got, feed) {
			t.Fatalf("the changes are\n%v, want\n%v", got, feed)
		}
		compareSince(t, s, rng, feed, versions)
		compareVersions(t, s, feed, versions)
	}
}

// changeNotes makes random writes and returns the changes, in the order of the records'
// first writes.
func changeNotes(s *NoteStore, rng *rand.Rand, feed []noteChange) (changes []noteChange, err error) {
	texts := map[int64]string{}
	for _, c := range feed {
		if !c.deleted {
			texts[c.id] = c.text
		}
	}
	for range 1 + rng.IntN(6) {
		id, text := 1+rng.Int64N(12), fmt.Sprint("text ", rng.IntN(4))
		c := noteChange{id: id, text: text}
		was, exists := texts[id]
		if rng.IntN(3) == 0 {
			c = noteChange{id: id, deleted: true}
			err = s.Delete(ctx, id)
			delete(texts, id)
		} else {
			err = s.Save(ctx, &Note{ID: id, Text: text})
			texts[id] = text
		}
		if err != nil {
			return nil, err
		}
		if c.deleted && !exists || !c.deleted && exists && was == text {
			continue // nothing changes
		}
		if i := slices.IndexFunc(changes, func(old noteChange) bool { return old.id == id }); i >= 0 {
			changes[i] = c
		} else {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// compareSince reads the changes after one of them.
func compareSince(t *testing.T, s *NoteStore, rng *rand.Rand, feed []noteChange, versions []persistable.Version) {
	t.Helper()
	if len(feed) == 0 {
		return
	}
	i := rng.IntN(len(feed))
	if got, _ := changesOf(t, s, versions[i]); !slices.Equal(got, feed[i+1:]) {
		t.Fatalf("the changes behind %d are %v, want %v", i, got, feed[i+1:])
	}
}

// compareVersions reads the versions of all notes by Get, GetMany, scans and queries.
func compareVersions(t *testing.T, s *NoteStore, feed []noteChange, versions []persistable.Version) {
	t.Helper()
	want := map[int64]persistable.Version{}
	var ids []int64
	for i, c := range feed {
		if !c.deleted {
			want[c.id], ids = versions[i], append(ids, c.id)
		}
	}
	var read []*Note
	for _, id := range ids {
		read = append(read, must[*Note](t)(s.Get(ctx, id)))
	}
	read = append(read, must[[]*Note](t)(s.GetMany(ctx, ids))...)
	read = append(read, must[[]*Note](t)(s.Scan().Slice(ctx))...)
	read = append(read, must[[]*Note](t)(s.Scan().Reverse().Limit(5).Slice(ctx))...)
	for i := range 4 {
		read = append(read, must[[]*Note](t)(s.ByText(fmt.Sprint("text ", i)).Slice(ctx))...)
	}
	if n := 4*len(ids) + min(len(ids), 5); len(read) != n {
		t.Fatalf("%d notes were read, want %d", len(read), n)
	}
	for _, v := range read {
		if v.Version != want[v.ID] || v.Version.IsZero() {
			t.Fatalf("note %d has the version %v, want %v", v.ID, v.Version, want[v.ID])
		}
	}
}

// TestVersionsBeforeTheCommit reads notes in the transaction that writes them.
func TestVersionsBeforeTheCommit(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := NoteStoreOf(db)
		check(t, s.Save(ctx, &Note{ID: 1, Text: "a"}))
		check(t, s.Save(ctx, &Note{ID: 2, Text: "a"}))
		attempts := 0 // each writes something else: an unchanged save writes nothing
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			attempts++
			in := s.In(tx)
			if err := in.Save(ctx, &Note{ID: 1, Text: "b" + fmt.Sprint(attempts)}); err != nil {
				return err
			}
			both, err := in.GetMany(ctx, []int64{1, 2})
			if err != nil {
				return err
			}
			for _, v := range both {
				if v.Version.IsZero() != (v.ID == 1) {
					t.Errorf("note %d has the version %v before the commit", v.ID, v.Version)
				}
			}
			if all, err := in.Scan().Slice(ctx); err != nil || len(all) != 2 {
				return fmt.Errorf("a scan finds %v: %w", all, err)
			}
			if err := in.SaveIfVersion(ctx, persistable.Version{}, &Note{ID: 1}); kv.CodeOf(err) == 0 && !errors.Is(err, persistable.ErrVersionPending) {
				t.Errorf("SaveIfVersion of a note that was changed: %v", err)
			}
			for _, err := range in.Feed().Changes(ctx, persistable.Version{}) {
				if err != nil {
					if !errors.Is(err, persistable.ErrVersionPending) {
						return err
					}
					return nil
				}
			}
			t.Error("Changes does not fail in a transaction that has written")
			return nil
		}))
	})
}

// TestSaveIfVersion saves under conditions, some after lost acknowledgements.
func TestSaveIfVersion(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := NoteStoreOf(db)
		check(t, s.Save(ctx, &Note{ID: 1, Text: "a"}))
		seen := must[*Note](t)(s.Get(ctx, 1))
		check(t, s.SaveIfVersion(ctx, seen.Version, &Note{ID: 1, Text: "b"}))
		if err := s.SaveIfVersion(ctx, seen.Version, &Note{ID: 1, Text: "c"}); !errors.Is(err, persistable.ErrChanged) {
			t.Errorf("a save over a change: %v", err)
		}
		if v := must[*Note](t)(s.Get(ctx, 1)); v.Text != "b" || v.Version.String() <= seen.Version.String() {
			t.Errorf("the note is %+v; it was at %v", v, seen.Version)
		}
		check(t, s.Delete(ctx, 1))
		if err := s.SaveIfVersion(ctx, seen.Version, &Note{ID: 1, Text: "c"}); !errors.Is(err, persistable.ErrNotFound) {
			t.Errorf("a save of a note that is gone: %v", err)
		}
		players := PlayerStoreOf(db)
		check(t, players.Save(ctx, &Player{ID: 1}))
		if err := players.SaveIfVersion(ctx, seen.Version, &Player{ID: 1}); !errors.Is(err, persistable.ErrNoVersions) {
			t.Errorf("a save of a type without versions: %v", err)
		}
	})
}

// TestVersionsDoNotConflict has two transactions write different notes at once.
func TestVersionsDoNotConflict(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	s := NoteStoreOf(db)
	check(t, s.Save(ctx, &Note{ID: 9}))
	var txs []kv.Transaction
	for id := range int64(3) {
		tx := must[kv.Transaction](t)(engine.Begin())
		t.Cleanup(tx.Cancel)
		check(t, s.In(db.In(tx)).Save(ctx, &Note{ID: id + 1}))
		txs = append(txs, tx)
	}
	for _, tx := range txs {
		check(t, tx.Commit(ctx))
	}
}

// TestInTwice writes two notes of one transaction through two Txs, which number their
// records from zero each. No change is lost.
func TestInTwice(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	s := NoteStoreOf(db)
	check(t, engine.Transact(ctx, func(tx kv.Transaction) error {
		if err := s.In(db.In(tx)).Save(ctx, &Note{ID: 1, Text: "a"}); err != nil {
			return err
		}
		return s.In(db.In(tx)).Save(ctx, &Note{ID: 2, Text: "b"})
	}))
	if got, _ := changesOf(t, s, persistable.Version{}); !slices.Equal(got, []noteChange{{1, "a", false}, {2, "b", false}}) {
		t.Errorf("the changes are %v", got)
	}
	n := must[int](t)(s.Feed().Consumer("c").Limit(1).Next(ctx, func(persistable.Tx, []persistable.Change[*Note, int64]) error { return nil }))
	if n != 2 {
		t.Errorf("a consumer gets %d of two changes of one version at once", n)
	}
}

// TestVersionsIn creates, changes and removes notes in transactions of the caller, twice in the same one as well:
// what a versionstamp hides until the commit keeps no store from reading back the records that it has written.
func TestVersionsIn(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := NoteStoreOf(db)
		for i, text := range []string{"", "of a note"} {
			in := func(fn func(*NoteStore) error) {
				t.Helper()
				check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { return fn(s.In(db.In(tx))) }))
			}
			one, two, three := &Note{ID: int64(10*i + 1), Text: text}, &Note{ID: int64(10*i + 2), Text: text}, &Note{ID: int64(10*i + 3)}
			in(func(s *NoteStore) error {
				changed := Note{ID: two.ID, Text: text + " changed"}
				return errors.Join(s.Save(ctx, one), s.SaveMany(ctx, []*Note{two, three}, persistable.BatchOptions{}), s.Save(ctx, &changed), s.Delete(ctx, three.ID))
			})
			before := must[*Note](t)(s.Get(ctx, one.ID))
			in(func(s *NoteStore) error {
				changed := Note{ID: one.ID, Text: text + " changed"}
				return errors.Join(s.Save(ctx, &changed), s.Save(ctx, &Note{ID: one.ID, Text: text + " again"}))
			})
			after := must[*Note](t)(s.Get(ctx, one.ID))
			if after.Text != text+" again" || after.Version.String() <= before.Version.String() {
				t.Errorf("a changed note has %d bytes and the version %v, and had %v", len(after.Text), after.Version, before.Version)
			}
			if other := must[*Note](t)(s.Get(ctx, two.ID)); other.Text != text+" changed" || other.Version.IsZero() {
				t.Errorf("a note that was created and changed has %d bytes and the version %v", len(other.Text), other.Version)
			}
			wantError(t, second(s.Get(ctx, three.ID)), persistable.ErrNotFound)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestVersionsAreBuilt adds versions to notes, while some are written.
func TestVersionsAreBuilt(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 20})
	old := persistimpl.NewStore[*Note, int64](db, noteSchemaWith(false))
	for id := int64(1); id <= 150; id++ {
		check(t, old.Save(ctx, &Note{ID: id, Text: "old"}))
	}
	s := NoteStoreOf(db)
	done := make(chan error)
	go func() {
		var err error
		for id := int64(1); id <= 150 && err == nil; id += 4 {
			err = s.Save(ctx, &Note{ID: id, Text: "new"})
		}
		done <- err
	}()
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	check(t, <-done)
	got, _ := changesOf(t, s, persistable.Version{})
	seen := map[int64]bool{}
	for _, c := range got {
		if seen[c.id] || (c.text == "new") != (c.id%4 == 1) {
			t.Errorf("change %v", c)
		}
		seen[c.id] = true
	}
	if len(seen) != 150 {
		t.Errorf("%d of 150 notes have changes", len(seen))
	}
}

// TestVersionBudgets counts the rounds of operations on a type with a field for the version.
func TestVersionBudgets(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	s := NoteStoreOf(open(t, counter))
	for id := int64(1); id <= 50; id++ {
		check(t, s.Save(ctx, &Note{ID: id, Text: "a"}))
	}
	seen := must[*Note](t)(s.Get(ctx, 7)).Version
	for _, c := range []struct {
		name   string
		rounds int
		fn     func() error
	}{
		{"Create", 1, func() error { return s.Create(ctx, &Note{ID: 51}) }},
		{"Save", 1, func() error { return s.Save(ctx, &Note{ID: 8, Text: "b"}) }},
		{"SaveIfVersion", 1, func() error { return s.SaveIfVersion(ctx, seen, &Note{ID: 7, Text: "b"}) }},
		{"Delete", 1, func() error { return s.Delete(ctx, 9) }},
		{"Get", 1, func() error { _, err := s.Get(ctx, 7); return err }},
		{"GetMany", 1, func() error { _, err := s.GetMany(ctx, []int64{7, 8}); return err }},
		{"an index", 2, func() error { _, err := s.ByText("a").Limit(20).Slice(ctx); return err }},
		{"a scan", 2, func() error { _, err := s.Scan().Slice(ctx); return err }},
		{"Changes", 2, func() error {
			for _, err := range s.Feed().Changes(ctx, persistable.Version{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		cost, err := counter.Measure(c.fn)
		if err != nil || cost.Rounds > c.rounds {
			t.Errorf("%s takes %v (%v), want at most %d rounds", c.name, cost, err, c.rounds)
		}
	}
}

// TestChangesOfLargeRecords counts the reads before the first change of large records: it has
// read a few of them. All come, also to a consumer.
func TestChangesOfLargeRecords(t *testing.T) {
	unscattered(t)
	counter := faults.NewCounter(enginetest.Open(t))
	schema := noteSchemaWith(true)
	schema.Indexes = schema.Indexes[1:] // of the version: the text is too long for the other one
	schema.Entries = func(_ int, e *index.Entries, _ any) { e.End(e.Begin()) }
	s := &NoteStore{persistimpl.NewStore[*Note, int64](open(t, counter), schema)}
	const n = 40
	for id := range int64(n) {
		check(t, s.Save(ctx, &Note{ID: id + 1, Text: strings.Repeat("a", 300_000)}))
	}
	begin, first, want := counter.Counts(), 0, int64(1)
	for c, err := range s.Feed().Changes(ctx, persistable.Version{}) {
		if check(t, err); want == 1 {
			now := counter.Counts()
			first = now.Gets + now.Ranges - begin.Gets - begin.Ranges
		}
		if c.ID != want || len(c.Record.Text) != 300_000 {
			t.Errorf("change %d is of note %d", want, c.ID)
		}
		want++
	}
	if want != n+1 || first > n+40 { // the beginning of each, and the other chunks of a few
		t.Errorf("%d changes came, after %d reads", want-1, first)
	}
}

// TestOlderProgramChanges has a program that knows nothing of versions change notes.
func TestOlderProgramChanges(t *testing.T) {
	engine := enginetest.Open(t)
	s := NoteStoreOf(open(t, engine))
	old := persistimpl.NewStore[*Note, int64](open(t, engine), noteSchemaWith(false))
	for id := int64(1); id <= 3; id++ {
		check(t, s.Save(ctx, &Note{ID: id, Text: "new"}))
	}
	seen := must[*Note](t)(s.Get(ctx, 1)).Version
	check(t, old.Save(ctx, &Note{ID: 1, Text: "old"}))
	check(t, old.Delete(ctx, 2))
	if got, _ := changesOf(t, s, persistable.Version{}); !slices.Equal(got, []noteChange{{3, "new", false}, {1, "old", false}, {2, "", true}}) {
		t.Errorf("the changes are %v", got)
	}
	if err := s.SaveIfVersion(ctx, seen, &Note{ID: 1}); !errors.Is(err, persistable.ErrChanged) {
		t.Errorf("SaveIfVersion over the change of an older program: %v", err)
	}
}
