// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// replicate copies changes to keys of a consumer's own, and counts how often each change
// was handled.
func replicate(group string) func(tx persistable.Tx, changes []persistable.Change[*Note, int64]) error {
	return func(tx persistable.Tx, changes []persistable.Change[*Note, int64]) error {
		for _, c := range changes {
			copyKey := tuple.Tuple{"copy", group, c.ID}.MustPack()
			if c.Deleted {
				tx.KV().Clear(copyKey)
			} else {
				tx.KV().Set(copyKey, []byte(c.Record.Text))
			}
			tx.KV().Atomic(kv.Add, tuple.Tuple{"times", group, c.ID, c.Version[:]}.MustPack(), kv.Int64(1))
		}
		return nil
	}
}

// compareCopy checks that a group's copy is what the store holds, and that no change was
// handled twice. It returns how many changes were handled.
func compareCopy(t *testing.T, db *persistable.DB, s *NoteStore, group string) (handled int) {
	t.Helper()
	checkDistinct(t, s)
	stored := map[int64]string{}
	for _, v := range must[[]*Note](t)(s.Scan().Slice(ctx)) {
		stored[v.ID] = v.Text
	}
	check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		handled = 0
		want := maps.Clone(stored)
		for pair, err := range tx.GetRange(kv.PrefixRange(tuple.Tuple{"copy", group}.MustPack()).Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			id := must[tuple.Tuple](t)(tuple.Unpack(pair.Key))[2].(int64)
			if text, exists := want[id]; !exists || text != string(pair.Value) {
				t.Errorf("%s has %q for note %d, want %q", group, pair.Value, id, text)
			}
			delete(want, id)
		}
		for pair, err := range tx.GetRange(kv.PrefixRange(tuple.Tuple{"times", group}.MustPack()).Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			if n := binary.LittleEndian.Uint64(pair.Value); n != 1 {
				t.Errorf("%s has handled a change %d times: %s", group, n, tuple.Describe(pair.Key))
			}
			handled++
		}
		if len(want) > 0 {
			t.Errorf("%s lacks %v", group, want)
		}
		return nil
	}))
	return handled
}

// checkDistinct checks that no record has two changes.
func checkDistinct(t *testing.T, s *NoteStore) {
	t.Helper()
	seen := map[int64]bool{}
	all, _ := changesOf(t, s, persistable.Version{})
	for _, c := range all {
		if seen[c.id] {
			t.Errorf("note %d has two changes", c.id)
		}
		seen[c.id] = true
	}
}

// TestConsumersSeeEachChangeOnce has goroutines write notes while consumers of two groups, two
// of each, copy them. The hostile engine loses acknowledgements of both.
func TestConsumersSeeEachChangeOnce(t *testing.T) {
	for _, engine := range []string{"plain", "hostile"} {
		t.Run(engine, func(t *testing.T) {
			e := enginetest.Open(t)
			if engine == "hostile" {
				e = faults.Hostile(e, faults.Options{Seed: seed.Of(t), MaxDelay: -1})
			}
			db := open(t, e)
			s, random := NoteStoreOf(db), seed.Of(t)
			check(t, s.Save(ctx, &Note{ID: 100}))
			var writers, consumers sync.WaitGroup
			for g := range uint64(3) {
				writers.Go(func() { writeNotes(t, db, s, rand.New(rand.NewPCG(random, g))) })
			}
			running, stop := context.WithCancel(ctx)
			for _, group := range []string{"a", "a", "b", "b"} {
				consumers.Go(func() {
					err := s.Feed().Consumer(group).Limit(3).Run(running, replicate(group))
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%s ends with %v", group, err)
					}
				})
			}
			writers.Wait()
			stop()
			consumers.Wait()
			for _, group := range []string{"a", "b", "late"} {
				for n := 1; n > 0; {
					n = must[int](t)(s.Feed().Consumer(group).Next(ctx, replicate(group)))
				}
				t.Logf("%s has handled %d changes", group, compareCopy(t, db, s, group))
			}
		})
	}
}

// writeNotes writes some notes, some of them twice in a transaction.
func writeNotes(t *testing.T, db *persistable.DB, s *NoteStore, rng *rand.Rand) {
	for range 25 {
		ids := []int64{1 + rng.Int64N(9), 1 + rng.Int64N(9)}
		texts := []string{fmt.Sprint(rng.IntN(1000)), fmt.Sprint(rng.IntN(1000))}
		remove := rng.IntN(4) == 0
		err := db.Transact(ctx, func(tx persistable.Tx) error {
			for i, id := range ids {
				if err := s.In(tx).Save(ctx, &Note{ID: id, Text: texts[i]}); err != nil {
					return err
				}
			}
			if remove {
				return s.In(tx).Delete(ctx, ids[0])
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// runConsumer runs a consumer until the test ends, and returns the ids of the notes that it
// handles. It is for a bubble of synctest.
func runConsumer(t *testing.T, s *NoteStore) <-chan int64 {
	running, stop := context.WithCancel(ctx)
	handled, ended := make(chan int64), make(chan error)
	go func() {
		ended <- s.Feed().Consumer("c").Run(running, func(_ persistable.Tx, changes []persistable.Change[*Note, int64]) error {
			for _, c := range changes {
				select {
				case handled <- c.ID: //persistvet:ignore retryeffect a test that conflicts reads the id again
				case <-running.Done(): // the test has failed
					return running.Err()
				}
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return handled
}

// TestConsumerWaits counts what a consumer asks of the engine while nothing changes: nothing,
// for thirty intervals. Each change wakes it at once.
func TestConsumerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := faults.NewCounter(enginetest.InProcess(t))
		s := NoteStoreOf(openWith(t, counter, persistable.Options{WatchPoll: time.Minute}))
		check(t, s.Save(ctx, &Note{ID: 1})) // where there is no store, a consumer waits without a watch
		handled := runConsumer(t, s)
		for id := int64(1); id <= 5; id++ {
			if id > 1 {
				check(t, s.Save(ctx, &Note{ID: id}))
			}
			within(t, time.Minute, func() {
				if got := <-handled; got != id {
					t.Fatalf("the consumer gets %d, want %d", got, id)
				}
			})
			synctest.Wait() // until it waits for the next change
			before := counter.Counts()
			time.Sleep(29 * time.Minute)
			if c := counter.Counts().Sub(before); c.Begins > 0 || c.Watches > 0 {
				t.Errorf("%d watches and %d transactions while nothing changes", c.Watches, c.Begins)
			}
		}
	})
}

// TestConsumerErrors leaves the position where it is after an error of the function.
func TestConsumerErrors(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := NoteStoreOf(db)
	check(t, s.Save(ctx, &Note{ID: 1}))
	failed := errors.New("failed")
	_, err := s.Feed().Consumer("c").Next(ctx, func(persistable.Tx, []persistable.Change[*Note, int64]) error { return failed })
	if !errors.Is(err, failed) || !must[persistable.Version](t)(s.Feed().Consumer("c").Position(ctx)).IsZero() {
		t.Errorf("Next returns %v", err)
	}
	n := must[int](t)(s.Feed().Consumer("c").Next(ctx, func(persistable.Tx, []persistable.Change[*Note, int64]) error { return nil }))
	if n != 1 || must[persistable.Version](t)(s.Feed().Consumer("c").Position(ctx)) != must[*Note](t)(s.Get(ctx, 1)).Version {
		t.Errorf("Next handles %d changes", n)
	}
	if _, err := PlayerStoreOf(db).Feed().Consumer("c").Next(ctx, nil); !errors.Is(err, persistable.ErrNoVersions) {
		t.Errorf("a consumer of a type without versions: %v", err)
	}
	if _, err := s.Feed().Consumer("").Next(ctx, nil); err == nil {
		t.Error("a consumer without a name runs")
	}
}

// TestPruneChanges forgets deletions, and does not while a consumer has not seen them.
func TestPruneChanges(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := NoteStoreOf(db)
		for id := int64(1); id <= 3; id++ {
			check(t, s.Save(ctx, &Note{ID: id}))
		}
		ignore := func(persistable.Tx, []persistable.Change[*Note, int64]) error { return nil }
		must[int](t)(s.Feed().Consumer("slow").Next(ctx, ignore))
		_, before := changesOf(t, s, persistable.Version{})
		check(t, s.Delete(ctx, 1))
		check(t, s.Delete(ctx, 2))
		_, versions := changesOf(t, s, persistable.Version{})
		last := versions[len(versions)-1]
		wantError(t, second(s.Feed().Prune(ctx, last, persistable.PruneOptions{})), persistable.ErrUnread, `"slow"`, "come to "+before[2].String()+" only")
		must[int](t)(s.Feed().Prune(ctx, last, persistable.PruneOptions{Force: true}))
		if got, _ := changesOf(t, s, persistable.Version{}); len(got) != 1 || got[0].id != 3 {
			t.Errorf("the changes after the pruning are %v", got)
		}
		wantError(t, second(s.Feed().Consumer("slow").Next(ctx, ignore)), persistable.ErrPruned, "up to "+last.String()+" were forgotten")
		check(t, s.Feed().RemoveConsumer(ctx, "slow"))
		check(t, s.Save(ctx, &Note{ID: 1, Text: "again"}))
		must[int](t)(s.Feed().Consumer("slow").Next(ctx, ignore))
		must[int](t)(s.Feed().Prune(ctx, last, persistable.PruneOptions{}))
		prefix := string(prefixOf(t, db, "notes"))
		keys := 0
		for key := range dump(t, db) {
			if len(key) > len(prefix)+2 && key[:len(prefix)] == prefix && key[len(prefix)+1] == 'V' {
				keys++
			}
		}
		if keys != 2 {
			t.Errorf("%d versions are kept of two notes", keys)
		}
	})
}

// TestRestoredVersions has a version in the store that is higher than the database's.
func TestRestoredVersions(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := NoteStoreOf(db)
	check(t, s.Save(ctx, &Note{ID: 1}))
	prefix := prefixOf(t, db, "notes")
	write(t, db, func(tx kv.Transaction) {
		tx.Set(append(prefix, tuple.Tuple{"S", "Note", "changed"}.MustPack()...), []byte{0x7f, 9: 0})
	})
	for _, err := range s.Feed().Changes(ctx, persistable.Version{}) {
		if !errors.Is(err, persistable.ErrRestored) {
			t.Errorf("Changes in a restored database: %v", err)
		}
	}
	if _, err := s.Feed().Consumer("c").Next(ctx, nil); !errors.Is(err, persistable.ErrRestored) {
		t.Errorf("a consumer in a restored database: %v", err)
	}
}
