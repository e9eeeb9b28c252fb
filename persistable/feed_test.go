// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

func ignoreNotes(persistable.Tx, []persistable.Change[*Note, int64]) error { return nil }

// TestRebuiltVersions builds versions again, after which no reader knows what was deleted
// before: readers of earlier changes get an error.
func TestRebuiltVersions(t *testing.T) {
	rebuild := map[string]func(*persistable.DB, *NoteStore) error{
		"rebuilt": func(_ *persistable.DB, s *NoteStore) error {
			return s.Indexes().Rebuild(ctx, "Note_version", persistable.BuildOptions{})
		},
		"removed and added": func(db *persistable.DB, s *NoteStore) error {
			old := persistimpl.NewStore[*Note, int64](db, noteSchemaWith(false))
			return errors.Join(old.Indexes().RemoveUnused(ctx), s.Indexes().Build(ctx, persistable.BuildOptions{}))
		},
	}
	for name, rebuild := range rebuild {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s := NoteStoreOf(db)
			check(t, s.Save(ctx, &Note{ID: 1}))
			check(t, s.Save(ctx, &Note{ID: 2}))
			must[int](t)(s.Feed().Consumer("c").Next(ctx, ignoreNotes))
			since := must[persistable.Version](t)(s.Feed().Consumer("c").Position(ctx))
			check(t, s.Delete(ctx, 1))
			check(t, rebuild(db, s))
			if _, err := s.Feed().Consumer("c").Next(ctx, ignoreNotes); !errors.Is(err, persistable.ErrPruned) {
				t.Errorf("a consumer that has missed a deletion: %v", err)
			}
			for _, err := range s.Feed().Changes(ctx, since) {
				if !errors.Is(err, persistable.ErrPruned) {
					t.Errorf("Changes after a deletion that was forgotten: %v", err)
				}
			}
			check(t, s.Feed().RemoveConsumer(ctx, "c"))
			if n := must[int](t)(s.Feed().Consumer("c").Next(ctx, ignoreNotes)); n != 1 {
				t.Errorf("a consumer that begins anew gets %d changes, want 1", n)
			}
			check(t, s.Delete(ctx, 2))
			if n := must[int](t)(s.Feed().Consumer("c").Next(ctx, ignoreNotes)); n != 1 {
				t.Errorf("the consumer goes on with %d changes, want 1", n)
			}
		})
	}
}

// TestRecordInTwice writes one note of one transaction through two Txs, the second of which
// cannot know its version: the transaction is refused, and nothing is written.
func TestRecordInTwice(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	s := NoteStoreOf(db)
	check(t, s.Save(ctx, &Note{ID: 2}))
	for name, second := range map[string]func(s *NoteStore) error{
		"Save":   func(s *NoteStore) error { return s.Save(ctx, &Note{ID: 1, Text: "b"}) },
		"Delete": func(s *NoteStore) error { return s.Delete(ctx, 1) },
		"Get":    func(s *NoteStore) error { _, err := s.Get(ctx, 1); return err },
		"Scan":   func(s *NoteStore) error { _, err := s.Scan().Slice(ctx); return err },
	} {
		err := engine.Transact(ctx, func(tx kv.Transaction) error {
			if err := s.In(db.In(tx)).Save(ctx, &Note{ID: 1, Text: "a"}); err != nil {
				return err
			}
			wantError(t, second(s.In(db.In(tx))), persistable.ErrVersionPending)
			return nil // as a program that overlooks the error
		})
		if err == nil {
			t.Errorf("%s: the transaction commits", name)
		}
	}
	if got, _ := changesOf(t, s, persistable.Version{}); !slices.Equal(got, []noteChange{{2, "", false}}) {
		t.Errorf("the changes are %v", got)
	}
}

// TestConsumerOfAMovedDirectory moves the directory while a consumer waits, which fires
// no watch: after thirty intervals the consumer comes to the directory that takes its place.
func TestConsumerOfAMovedDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openWith(t, enginetest.InProcess(t), persistable.Options{WatchPoll: time.Minute})
		s := NoteStoreOf(db)
		handled := runConsumer(t, s)
		check(t, s.Save(ctx, &Note{ID: 1}))
		<-handled
		synctest.Wait() // until it waits for the next change
		check(t, second(directory.Root().Move(ctx, db.Engine(), []string{"notes"}, []string{"old"})))
		check(t, s.Save(ctx, &Note{ID: 2}))
		within(t, 32*time.Minute, func() {
			if id := <-handled; id != 2 {
				t.Errorf("the consumer gets note %d", id)
			}
		})
	})
}

// TestConsumerCreatesNothing runs a consumer before its store exists, and again after the
// store was removed: it waits, and the directory stays away until a record is written.
func TestConsumerCreatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openWith(t, enginetest.InProcess(t), persistable.Options{WatchPoll: time.Minute})
		s := NoteStoreOf(db)
		before := must[[]string](t)(db.ListDirectory(ctx))
		handled := runConsumer(t, s)
		for id := int64(1); id <= 3; id++ {
			time.Sleep(40 * time.Minute) // and more than one look
			if got := must[[]string](t)(db.ListDirectory(ctx)); !slices.Equal(got, before) {
				t.Fatalf("the consumer has made one of the directories %q", got)
			}
			if at := must[persistable.Version](t)(s.Feed().Consumer("c").Position(ctx)); !at.IsZero() {
				t.Errorf("the position without a store is %v", at)
			}
			check(t, s.Save(ctx, &Note{ID: id}))
			within(t, 2*time.Minute, func() {
				if got := <-handled; got != id {
					t.Errorf("the consumer gets note %d, want %d", got, id)
				}
			})
			synctest.Wait() // until the transaction that handles the note has committed
			check(t, db.RemoveDirectory(ctx, "notes"))
		}
	})
}

// TestPruneBesideADeletion has a note created again and deleted again while its first
// deletion is forgotten: the later one is kept.
func TestPruneBesideADeletion(t *testing.T) {
	engine := enginetest.Open(t)
	between := &faulty{Database: engine}
	s, pruner := NoteStoreOf(open(t, engine)), NoteStoreOf(open(t, between))
	check(t, s.Save(ctx, &Note{ID: 1}))
	check(t, s.Delete(ctx, 1))
	_, versions := changesOf(t, s, persistable.Version{})
	check(t, s.Save(ctx, &Note{ID: 2}))
	between.begin(nil, func(n int, commit func() error) error {
		if n == 1 {
			check(t, s.Save(ctx, &Note{ID: 1}))
			check(t, s.Delete(ctx, 1))
		}
		return commit()
	})
	if n := must[int](t)(pruner.Feed().Prune(ctx, versions[0], persistable.PruneOptions{})); n != 0 {
		t.Errorf("%d deletions were forgotten, want none", n)
	}
	check(t, s.Save(ctx, &Note{ID: 1})) // removes the deletion, whose version must be known
	checkDistinct(t, s)
}

// TestPruneWaitsForNewConsumers has a consumer that has run, but not seen a change yet.
func TestPruneWaitsForNewConsumers(t *testing.T) {
	s := NoteStoreOf(open(t, enginetest.Open(t)))
	forget := func() error {
		check(t, s.Save(ctx, &Note{ID: 1}))
		check(t, s.Delete(ctx, 1))
		_, versions := changesOf(t, s, persistable.Version{})
		_, err := s.Feed().Prune(ctx, versions[len(versions)-1], persistable.PruneOptions{})
		return err
	}
	check(t, forget())
	if n := must[int](t)(s.Feed().Consumer("new").Next(ctx, ignoreNotes)); n != 0 {
		t.Errorf("%d changes of an empty store", n)
	}
	wantError(t, forget(), persistable.ErrUnread, `the consumer "new" of Note`)
}

// TestPruneMany forgets more deletions than one transaction reads.
func TestPruneMany(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := NoteStoreOf(db)
	const notes = 1100
	for _, write := range []func(s *NoteStore, id int64) error{
		func(s *NoteStore, id int64) error { return s.Save(ctx, &Note{ID: id}) },
		func(s *NoteStore, id int64) error { return s.Delete(ctx, id) },
	} {
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			for id := int64(1); id <= notes; id++ {
				if err := write(s.In(tx), id); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	all, versions := changesOf(t, s, persistable.Version{})
	if n := must[int](t)(s.Feed().Prune(ctx, versions[len(versions)-1], persistable.PruneOptions{})); len(all) != notes || n != notes {
		t.Errorf("%d of %d deletions were forgotten", n, len(all))
	}
}

// TestPruneOfAMovedDirectory: the directory is moved away while Prune runs, and another one is
// put at its path. Prune goes on there, and no longer touches the moved one, whose deletions it
// could not note as forgotten.
func TestPruneOfAMovedDirectory(t *testing.T) {
	engine := enginetest.Open(t)
	between := &faulty{Database: engine}
	db, pruner := open(t, engine), NoteStoreOf(open(t, between))
	s := NoteStoreOf(db)
	const notes, batch = 2100, 1000
	all, ids := make([]*Note, notes), make([]int64, notes)
	for i := range all {
		ids[i] = int64(i + 1)
		all[i] = &Note{ID: ids[i]}
	}
	check(t, s.SaveMany(ctx, all, persistable.BatchOptions{}))
	check(t, persistable.DeleteMany(ctx, &s.Store, ids, persistable.BatchOptions{}))
	_, versions := changesOf(t, s, persistable.Version{})
	between.begin(nil, func(n int, commit func() error) error {
		err := commit()
		if n == 1 {
			check(t, db.MoveDirectory(ctx, []string{"notes"}, []string{"moved"}))
			check(t, s.Save(ctx, &Note{ID: 1}))
			for bytes.Compare(prefixOf(t, db, "notes"), prefixOf(t, db, "moved")) < 0 { // later ones are higher
				check(t, db.RemoveDirectory(ctx, "notes"))
				check(t, s.Save(ctx, &Note{ID: 1}))
			}
		}
		return err
	})
	if n := must[int](t)(pruner.Feed().Prune(ctx, versions[len(versions)-1], persistable.PruneOptions{})); n != batch {
		t.Errorf("%d deletions were forgotten, want the %d of the first transaction", n, batch)
	}
	check(t, db.RemoveDirectory(ctx, "notes"))
	check(t, db.MoveDirectory(ctx, []string{"moved"}, []string{"notes"}))
	if left, _ := changesOf(t, s, persistable.Version{}); len(left) != notes-batch {
		t.Errorf("%d deletions are left in the directory that was moved, want %d", len(left), notes-batch)
	}
}

// TestConsumerBesideWriters changes the notes that a consumer handles, and others: its
// function runs once.
func TestConsumerBesideWriters(t *testing.T) {
	s := NoteStoreOf(open(t, enginetest.Open(t)))
	check(t, s.Save(ctx, &Note{ID: 1, Text: "a"}))
	runs := 0
	n := must[int](t)(s.Feed().Consumer("c").Next(ctx, func(persistable.Tx, []persistable.Change[*Note, int64]) error {
		runs++
		other := persistable.OwnTransaction(ctx)
		return errors.Join(s.Save(other, &Note{ID: 1, Text: "b" + string(rune('0'+runs))}), s.Save(other, &Note{ID: 2, Text: "b"}))
	}))
	if n != 1 || runs != 1 {
		t.Errorf("%d changes in %d runs of the function", n, runs)
	}
	if n := must[int](t)(s.Feed().Consumer("c").Next(ctx, ignoreNotes)); n != 2 {
		t.Errorf("%d changes are left, want 2", n)
	}
}

// TestVersionsBesideABuild saves notes between the transactions of a build of versions:
// each note has one change, and no reader gets an incomplete feed.
func TestVersionsBesideABuild(t *testing.T) {
	engine := enginetest.Open(t)
	between := &faulty{Database: engine}
	db := openWith(t, between, persistable.Options{BuildBatch: 5})
	s, builder := NoteStoreOf(open(t, engine)), NoteStoreOf(db)
	old := persistimpl.NewStore[*Note, int64](open(t, engine), noteSchemaWith(false))
	for id := int64(1); id <= 40; id++ {
		check(t, old.Save(ctx, &Note{ID: id}))
	}
	refused, saved := 0, map[int64]bool{}
	between.begin(nil, func(n int, commit func() error) error {
		if id := int64(n)*7%40 + 1; n > 1 && n < 12 {
			check(t, s.Save(ctx, &Note{ID: id, Text: "new"}))
			saved[id] = true
		}
		for _, err := range s.Feed().Changes(ctx, persistable.Version{}) {
			if errors.Is(err, persistable.ErrNoVersions) {
				refused++
			}
		}
		for _, v := range must[[]*Note](t)(s.Scan().Slice(ctx)) {
			if is := must[*Note](t)(s.Get(ctx, v.ID)); is.Version != v.Version {
				t.Errorf("note %d has the version %v, and in a scan %v", v.ID, is.Version, v.Version)
			}
		}
		return commit()
	})
	check(t, builder.Indexes().Build(ctx, persistable.BuildOptions{}))
	checkDistinct(t, s)
	all, _ := changesOf(t, s, persistable.Version{})
	for _, c := range all {
		if saved[c.id] != (c.text == "new") {
			t.Errorf("change %v", c)
		}
	}
	if len(all) != 40 || refused < 5 {
		t.Errorf("%d changes of 40 notes; %d readers of an incomplete feed were refused", len(all), refused)
	}
}

// TestAwait: Await returns at once if there is a change after the version, and otherwise with
// the next change, or the end of the context. Without a store it looks again after a while, and
// makes none.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openWith(t, enginetest.InProcess(t), persistable.Options{WatchPoll: time.Minute})
		s := NoteStoreOf(db)
		began := time.Now()
		check(t, s.Feed().Await(ctx, persistable.Version{}))
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("without a store it waits %v", waited)
		}
		check(t, s.Save(ctx, &Note{ID: 1}))
		within(t, time.Second, func() { check(t, s.Feed().Await(ctx, persistable.Version{})) })
		_, versions := changesOf(t, s, persistable.Version{})
		last := versions[0]
		go func() {
			time.Sleep(10 * time.Minute)
			check(t, s.Save(ctx, &Note{ID: 2}))
		}()
		within(t, 11*time.Minute, func() { check(t, s.Feed().Await(ctx, last)) })
		got, versions := changesOf(t, s, last)
		if len(got) != 1 || got[0].id != 2 {
			t.Fatalf("it returns with the changes %v", got)
		}
		last = versions[0]
		ending, cancel := context.WithTimeout(ctx, 45*time.Minute)
		defer cancel()
		within(t, 31*time.Minute, func() { check(t, s.Feed().Await(ending, last)) }) // it looks after thirty intervals
		if err := s.Feed().Await(ending, last); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end of the context: %v", err)
		}
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			if err := s.In(tx).Feed().Await(ctx, last); err == nil {
				t.Error("a bound store waits")
			}
			return nil
		}))
	})
}
