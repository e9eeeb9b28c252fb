// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

func laneKey(i int) []byte { return fmt.Appendf(nil, "lane/%06d", i) }

// laneOf makes a database with so many keys, in its base or in its window.
func laneOf(t *testing.T, n int, absorbed bool) *Database {
	t.Helper()
	return laneWith(t, tiny(vfs.NewMem()), n, absorbed)
}

// laneWith is laneOf with options.
func laneWith(t *testing.T, o Options, n int, absorbed bool) *Database {
	t.Helper()
	db := openTest(t, o)
	t.Cleanup(func() { closeTest(t, db) })
	transact(t, db, func(tx kv.Transaction) {
		for i := range n {
			tx.Set(laneKey(i), []byte("value"))
		}
	})
	if absorbed {
		toTheBase(t, db)
	}
	return db
}

// toTheBase brings all that was committed to the base.
func toTheBase(t *testing.T, db *Database) {
	t.Helper()
	for range 2 { // the last commit is not old
		transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("other"), nil) })
	}
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
}

// vacancies returns what the newest view knows to have no values.
func vacancies(db *Database) *keys.Set {
	vacant := db.head.Newest().Vacancies()
	return &vacant
}

func clearLane(t *testing.T, db *Database, from, to int) {
	t.Helper()
	transact(t, db, func(tx kv.Transaction) {
		for i := from; i < to; i++ {
			tx.Clear(laneKey(i))
		}
	})
}

// effort reads one key of the lane, the last one if below, and returns it with
// how many entries of the window and keys of the base the read went past.
func effort(t *testing.T, db *Database, below bool) (key string, passed int) {
	t.Helper()
	s := db.head.Newest().NewScan(nil)
	begin, end := laneKey(0), []byte("lane0")
	s.SetBounds(begin, end)
	var found []byte
	if below {
		found, _, _ = s.SeekBelow(end)
	} else {
		found, _, _ = s.Seek(begin)
	}
	entries, steps := s.Passed()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return string(found), entries + steps
}

// TestClearedRunIsPassedOnce reads the one key that is left in a lane, from
// either side, where the others were cleared in the window, in the base, or
// both.
func TestClearedRunIsPassedOnce(t *testing.T) {
	const n = 2000
	few := mvcc.LongRun + mvcc.LeapEvery // what is not worth being told
	for _, below := range []bool{false, true} {
		for _, c := range []struct {
			name     string
			absorbed bool // before it was cleared
			trickle  bool // keys leave one by one, with time between
			first    int  // what the first read may go past
		}{
			{"cleared in the window", true, false, 4 * n},
			{"written and cleared in the window", false, false, few},
			{"cleared in the base", true, true, 4 * n},
		} {
			t.Run(fmt.Sprintf("%s, below %v", c.name, below), func(t *testing.T) {
				db := laneOf(t, n, c.absorbed)
				left, from, to := n-1, 0, n-1
				if below {
					left, from, to = 0, 1, n
				}
				if c.trickle {
					for i := from; i < to; i += 10 {
						clearLane(t, db, i, min(i+10, to))
						toTheBase(t, db)
					}
				} else {
					clearLane(t, db, from, to)
				}
				for read, most := range []int{c.first, few, few} {
					key, passed := effort(t, db, below)
					if key != string(laneKey(left)) {
						t.Fatalf("the key left is %q, want %q", key, laneKey(left))
					}
					if passed > most {
						t.Errorf("read %d went past %d keys, want at most %d", read, passed, most)
					}
				}
				toTheBase(t, db)
				if _, passed := effort(t, db, below); passed > few {
					t.Errorf("the read after absorbing went past %d keys", passed)
				}
			})
		}
	}
}

// TestQueueCostsAreEven consumes a queue from either end. On the whole, a read
// goes past no more keys than it takes to tell of them.
func TestQueueCostsAreEven(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 1000
	}
	for _, below := range []bool{false, true} {
		for _, every := range []int{n, 100, 7} { // absorbing after so many
			t.Run(fmt.Sprintf("below %v, absorbing every %d", below, every), func(t *testing.T) {
				db := laneOf(t, n, true)
				sum := 0
				for i := range n {
					next := i
					if below {
						next = n - 1 - i
					}
					key, passed := effort(t, db, below)
					if key != string(laneKey(next)) {
						t.Fatalf("the next key is %q, want %q", key, laneKey(next))
					}
					sum += passed
					transact(t, db, func(tx kv.Transaction) { tx.Clear([]byte(key)) })
					if i%every == every-1 {
						toTheBase(t, db)
					}
				}
				if most := n * 2 * (mvcc.LongRun + mvcc.LeapEvery); sum > most {
					t.Errorf("%d reads went past %d keys, want at most %d", n, sum, most)
				}
			})
		}
	}
}

// TestVacanciesAreBounded makes more runs of cleared keys than are remembered,
// and sets keys in the midst of all that are.
func TestVacanciesAreBounded(t *testing.T) {
	const n = 3*mvcc.MostVacancies + 1
	db := laneWith(t, shortRuns(tiny(vfs.NewMem())), 4*n, true)
	transact(t, db, func(tx kv.Transaction) {
		for i := range 4 * n {
			if i%4 != 0 {
				tx.Clear(laneKey(i))
			}
		}
	})
	count := func() int {
		t.Helper()
		left := 0
		for i := range n {
			s := db.head.Newest().NewScan(nil)
			for key, _, ok := s.Seek(laneKey(4 * i)); ok && left < 4*n && string(key) < string(laneKey(4*i+4)); key, _, ok = s.Next() {
				left++
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if c := vacancies(db).Len(); c > mvcc.MostVacancies {
			t.Fatalf("%d vacancies are remembered", c)
		}
		return left
	}
	if got := count(); got != n {
		t.Fatalf("%d keys are left, want %d", got, n)
	}
	if vacancies(db).IsEmpty() {
		t.Fatal("no vacancy is remembered")
	}
	transact(t, db, func(tx kv.Transaction) {
		for i := range n {
			tx.Set(laneKey(4*i+2), []byte("value"))
		}
	})
	if got := count(); got != 2*n {
		t.Errorf("%d keys are there, want %d", got, 2*n)
	}
}

// TestQueueConcurrent has consumers take the first key of a queue that producers
// add to at both ends, while all of it is absorbed. Each element is taken once.
func TestQueueConcurrent(t *testing.T) {
	const producers, each = 3, 300
	db := openTest(t, shortRuns(crashOptions(vfs.NewMem(), true)))
	defer closeTest(t, db)
	var (
		producing, consuming, absorbing sync.WaitGroup
		full, quit                      atomic.Bool
		mu                              sync.Mutex
		taken                           []string
	)
	for p := range producers {
		producing.Go(func() {
			for i := range each {
				order := i
				if p == 0 { // before all others
					order = each - i
				}
				transact(t, db, func(tx kv.Transaction) { tx.Set(fmt.Appendf(nil, "queue/%d/%06d", p, order), nil) })
			}
		})
	}
	for range 2 {
		consuming.Go(func() {
			for round := 0; ; round++ {
				last := full.Load() // nothing is added any more
				key, err := takeFirst(db, round%5 == 0)
				if err != nil {
					t.Error(err)
				}
				if err != nil || last && key == "" {
					return
				}
				if key != "" {
					mu.Lock()
					taken = append(taken, key)
					mu.Unlock()
				}
			}
		})
	}
	absorbing.Go(func() {
		for !quit.Load() {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	producing.Wait()
	full.Store(true)
	consuming.Wait()
	quit.Store(true)
	absorbing.Wait()
	if len(taken) != producers*each {
		t.Errorf("%d elements were taken, want %d", len(taken), producers*each)
	}
	slices.Sort(taken)
	if n := len(slices.Compact(taken)); n != producers*each {
		t.Errorf("%d different elements were taken, want %d", n, producers*each)
	}
}

// takeFirst takes the first element, or the last, "" if there is none.
func takeFirst(db *Database, last bool) (key string, err error) {
	err = db.Transact(context.Background(), func(tx kv.Transaction) error {
		key = ""
		got, err := readPairs(tx, kv.KeyRange{Begin: []byte("queue/"), End: []byte("queue0")}, kv.RangeOptions{Limit: 1, Reverse: last})
		if err != nil || len(got) == 0 {
			return err
		}
		key = got[0][0]
		tx.Clear([]byte(key))
		return nil
	})
	return key, err
}

// TestVacancyComesTooLate tells of a vacancy when what was set in it since has
// left the window.
func TestVacancyComesTooLate(t *testing.T) {
	db := laneOf(t, 100, true)
	clearLane(t, db, 0, 99)
	late := db.head.Newest()
	transact(t, db, func(tx kv.Transaction) { tx.Set(laneKey(50), []byte("value")) })
	toTheBase(t, db)
	late.ReportVacancy(kv.KeyRange{Begin: laneKey(0), End: laneKey(99)}, late.Version())
	if key, _ := effort(t, db, false); key != string(laneKey(50)) {
		t.Errorf("the first key is %q, want %q", key, laneKey(50))
	}
}

// TestVacancyIsClipped tells of a vacancy while a key was set in it that is
// still in the window.
func TestVacancyIsClipped(t *testing.T) {
	db := laneOf(t, 100, true)
	clearLane(t, db, 0, 99)
	before := db.head.Newest()
	transact(t, db, func(tx kv.Transaction) { tx.Set(laneKey(50), []byte("value")) })
	before.ReportVacancy(kv.KeyRange{Begin: laneKey(0), End: laneKey(99)}, before.Version())
	if key, passed := effort(t, db, false); key != string(laneKey(50)) || passed > mvcc.LeapEvery {
		t.Errorf("the first key is %q, past %d others, want %q", key, passed, laneKey(50))
	}
}

// TestVacancyEndsWhereTheBaseWasAsked goes past a run within bounds and comes to
// a key of the window that lies outside, with keys of the base in between.
func TestVacancyEndsWhereTheBaseWasAsked(t *testing.T) {
	db := laneWith(t, shortRuns(tiny(vfs.NewMem())), 100, true)
	transact(t, db, func(tx kv.Transaction) {
		tx.Set(laneKey(10), []byte("new"))
		tx.Set(laneKey(90), []byte("new"))
	})
	clearLane(t, db, 40, 60)
	for _, below := range []bool{false, true} {
		s := db.head.Newest().NewScan(nil)
		begin, end := keys.Successor(laneKey(39)), append(laneKey(59), '?')
		s.SetBounds(begin, end)
		if below {
			s.SeekBelow(end)
		} else {
			s.Seek(begin)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if vacancies(db).IsEmpty() {
		t.Fatal("no vacancy is remembered")
	}
	var want []string
	for i := range 100 {
		if i < 40 || i >= 60 {
			want = append(want, string(laneKey(i)))
		}
	}
	for i := range 100 {
		checkLeaps(t, db, want, laneKey(i), laneKey(100))
		checkLeaps(t, db, want, laneKey(0), laneKey(i))
	}
}
