// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// firstDay is the day 0 of the tests of this file.
var firstDay = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func day(n int) time.Time { return firstDay.AddDate(0, 0, n) }

// bill is the name of the sequence of bills on a day.
func bill(n int) string { return idconfig.SequenceName("bills", 0, day(n).Format("2006-01-02")) }

// dailyService is a worker with a clock of its own, and the key bills, which begins anew each day.
type dailyService struct {
	service
	clock *clock
}

func startDaily(t testing.TB, s store.Store, o worker.Options) dailyService {
	t.Helper()
	c := &clock{now: firstDay}
	o.AdminToken, o.Now, o.Monotonic, o.Validity = adminToken, c.Now, options().Monotonic, 10*time.Second // few reads of the revision
	w := dailyService{startOn(t, s, o), c}
	w.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "bills", "parts": [
		{"type": "date-format", "format": "yyyyMMdd"}, {"type": "fixed-chars", "value": "-"}, {"type": "auto-increment", "reset_scope": "date"}]}`)
	return w
}

// wantFirst makes the first ID of a day.
func (s dailyService) wantFirst(n int) {
	s.Helper()
	s.clock.set(day(n))
	want := day(n).Format("20060102") + "-1"
	if ids, err := s.Formatted(context.Background(), nil, "bills", 1); err != nil || ids[0] != want {
		s.Errorf("day %d: %v, %v, want %s", n, ids, err, want)
	}
}

// wantRefused checks that a worker with a late clock gives no ID, and leaves no sequence.
func (s dailyService) wantRefused(n, size int) {
	s.Helper()
	s.clock.set(day(n))
	s.wantRefusal("GET", fmt.Sprint("/v1/id/formatted?key=bills&size=", size), "", 503, 4002, "the clock of the service is behind: it says "+day(n).Format("2006-01-02"))
	s.wantSequences(n, n, 0)
}

// wantSequences counts the sequences of the days from one to another.
func (s dailyService) wantSequences(from, to, want int) {
	s.Helper()
	got := 0
	for n := from; n <= to; n++ {
		if _, err := s.store.Sequence(context.Background(), bill(n)); err == nil {
			got++
		} else if !errors.Is(err, store.ErrNotFound) {
			s.Error(err)
		}
	}
	if got != want {
		s.Errorf("of the days from %d to %d there are %d sequences, want %d", from, to, got, want)
	}
}

// awaitRemovals lets the workers remove sequences n times.
func awaitRemovals(n int) {
	time.Sleep(time.Duration(n) * time.Minute)
	synctest.Wait()
}

// TestPeriodsEnd: a counter keeps the sequences of its latest periods only, and begins each
// period at 1; a worker with a clock that is many periods late begins none of them again.
func TestPeriodsEnd(t *testing.T) { synctest.Test(t, testPeriodsEnd) }

func testPeriodsEnd(t *testing.T) {
	shared := storetest.Memory(t)
	s, slow := startDaily(t, shared, worker.Options{}), startDaily(t, shared, worker.Options{})
	slow.wantFirst(0)
	for n := 1; n <= 100; n++ {
		s.wantFirst(n)
	}
	awaitRemovals(2)
	s.wantSequences(0, 100, 32)
	s.wantSequences(69, 100, 32)
	if ids, err := slow.Formatted(t.Context(), nil, "bills", 900); err != nil || ids[899] != "20261122-901" { // from its memory
		t.Errorf("%v", err)
	}
	slow.wantRefused(0, 900)
	slow.wantRefused(5, 1)
	startDaily(t, shared, worker.Options{}).wantRefused(68, 1)
	slow.clock.set(day(69))
	if ids, err := slow.Formatted(t.Context(), nil, "bills", 1); err != nil || strings.HasSuffix(ids[0], "-1") {
		t.Errorf("a day that is not over: %v, %v", ids, err)
	}
	slow.wantFirst(101)
}

// TestPeriodsStored: the document of a counter is as the layout describes it, and says what is to
// be removed for as long as the store fails.
func TestPeriodsStored(t *testing.T) { synctest.Test(t, testPeriodsStored) }

func testPeriodsStored(t *testing.T) {
	var fails atomic.Bool
	s := startDaily(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) storetest.Fault {
		return storetest.Fault{Fail: c.Method == "DeleteSequence" && fails.Load()}
	}), worker.Options{})
	want := func(begins, ends string, open int) {
		t.Helper()
		d, err := s.store.Get(t.Context(), store.Periods, "bills#0:date")
		if text := string(d.Value); err != nil || !strings.HasPrefix(text, begins) || !strings.HasSuffix(text, ends) || strings.Count(text[:strings.Index(text, "]")], ",") != open-1 {
			t.Errorf("%s, %v\nwant %d open, from %s to %s", text, err, open, begins, ends)
		}
	}
	s.wantFirst(0)
	want(`{"open":["2026-11-22"]}`, "", 1)
	for n := range 33 {
		s.wantFirst(n + 1)
	}
	for range 2 {
		want(`{"open":["2026-11-24",`, `"2026-12-25"],"floor":"2026-11-23","over":["2026-11-22","2026-11-23"],"before":"2026-11-22"}`, 32)
		fails.Store(true)
		awaitRemovals(2)
	}
	fails.Store(false)
	awaitRemovals(2)
	want(`{"open":["2026-11-24",`, `"2026-12-25"],"floor":"2026-11-23"}`, 32)
}

// TestPeriodsOfANewerVersion: a worker that does not know a member of the document gives no number,
// and keeps the document.
func TestPeriodsOfANewerVersion(t *testing.T) { synctest.Test(t, testPeriodsOfANewerVersion) }

func testPeriodsOfANewerVersion(t *testing.T) {
	s := startDaily(t, storetest.Memory(t), worker.Options{})
	newer := store.Document{Key: "bills#0:date", Value: []byte(`{"open":["2026-11-21"],"kept":["2026-10-01"]}`)}
	if _, err := s.store.Put(t.Context(), store.Periods, newer); err != nil {
		t.Fatal(err)
	}
	s.wantRefusal("GET", "/v1/id/formatted?key=bills", "", 503, 4002, "a newer version wrote what the store holds")
	if d, err := s.store.Get(t.Context(), store.Periods, newer.Key); err != nil || string(d.Value) != string(newer.Value) {
		t.Errorf("the document is %s (%v)", d.Value, err)
	}
}

// TestPeriodEndsDuringReservation: whenever the period of a reservation ends, its numbers
// are not given: before the reservation, which then begins the sequence anew, or after it.
func TestPeriodEndsDuringReservation(t *testing.T) {
	for _, at := range []storetest.Call{{Method: "Reserve", Name: bill(0)}, {Method: "Get", Kind: store.Periods, Name: "bills#0:date"}} {
		t.Run(at.Method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testPeriodEndsDuring(t, at) })
		})
	}
}

func testPeriodEndsDuring(t *testing.T, at storetest.Call) {
	shared := storetest.Memory(t)
	s := startDaily(t, shared, worker.Options{})
	s.wantFirst(0)
	var stalls atomic.Bool
	stalled, goOn := make(chan bool), make(chan bool)
	slow := startDaily(t, storetest.Faulty(shared, func(c storetest.Call) (f storetest.Fault) {
		if c == at && stalls.CompareAndSwap(true, false) {
			f.Before = func(context.Context) { stalled <- true; <-goOn }
		}
		return f
	}), worker.Options{ReserveTimeout: time.Hour})
	stalls.Store(true)
	done := make(chan error)
	go func() {
		_, err := slow.Formatted(t.Context(), nil, "bills", 1)
		done <- err
	}()
	<-stalled
	for n := 1; n <= 40; n++ {
		s.wantFirst(n)
	}
	awaitRemovals(2)
	close(goOn)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("the error is %v", err)
	}
	s.wantSequences(0, 0, 0)
}

// forgetful is a store that has lost its sequences, once lost is set. It counts the reservations
// by which it learns that.
type forgetful struct {
	store.Store
	lost, learned *atomic.Int64
}

func (s forgetful) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	if s.lost.Load() == 0 {
		return s.Store.Reserve(ctx, name, r)
	}
	if !r.Removable {
		s.learned.Add(1)
	}
	return store.Range{}, store.ErrLost
}

// TestLostPeriod: a store that has lost the sequence of a period which is not over learns that it
// has lost data; the sequence of a period that is over may be missing.
func TestLostPeriod(t *testing.T) { synctest.Test(t, testLostPeriod) }

func testLostPeriod(t *testing.T) {
	shared, lost, learned := storetest.Memory(t), new(atomic.Int64), new(atomic.Int64)
	s := startDaily(t, shared, worker.Options{})
	slow := startDaily(t, forgetful{shared, lost, learned}, worker.Options{})
	for n := range 40 {
		s.wantFirst(n)
	}
	lost.Store(1)
	slow.wantRefused(0, 1)
	if n := learned.Load(); n != 0 {
		t.Errorf("the store was told %d times that it has lost the sequence of a period that is over", n)
	}
	for i, n := range []int{20, 40} { // one that has begun, and one that has not
		slow.clock.set(day(n))
		if ids, err := slow.Formatted(t.Context(), nil, "bills", 1); !errors.Is(err, store.ErrLost) {
			t.Errorf("%v, %v", ids, err)
		}
		if told := learned.Load(); told != int64(i+1) {
			t.Errorf("the store was told %d times that it has lost data, want %d", told, i+1)
		}
	}
}

// TestOlderSequences: sequences that a program made which kept all of them are removed, in steps.
func TestOlderSequences(t *testing.T) { synctest.Test(t, testOlderSequences) }

func testOlderSequences(t *testing.T) {
	var deleted atomic.Int64
	s := startDaily(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) (f storetest.Fault) {
		if c.Method == "DeleteSequence" {
			deleted.Add(1)
		}
		return f
	}), worker.Options{})
	for n := -400; n < 0; n++ {
		if n%50 != 0 { // a day without IDs
			if err := s.store.SetSequence(t.Context(), bill(n), 1000, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 32 {
		s.wantFirst(n)
	}
	awaitRemovals(3)
	s.wantSequences(-400, 31, 392+32)
	s.wantFirst(32)
	awaitRemovals(1)
	if n := deleted.Load(); n < 10 || n > 70 {
		t.Errorf("%d sequences were removed in one step", n)
	}
	awaitRemovals(10)
	s.wantSequences(-400, 32, 32)
	before := deleted.Load()
	s.wantFirst(33)
	awaitRemovals(10)
	if n := deleted.Load() - before; n != 1 {
		t.Errorf("on the next day %d sequences were removed, want 1", n)
	}
}

// TestSequencesBetweenPeriods: sequences of periods that did not become open, between two that end while older ones are being
// removed, are removed, too.
func TestSequencesBetweenPeriods(t *testing.T) { synctest.Test(t, testSequencesBetweenPeriods) }

func testSequencesBetweenPeriods(t *testing.T) {
	s := startDaily(t, storetest.Memory(t), worker.Options{})
	for _, n := range []int{-3, 5, 9} { // of programs that crashed
		if err := s.store.SetSequence(t.Context(), bill(n), 1000, 0); err != nil {
			t.Fatal(err)
		}
	}
	s.wantFirst(0)
	for n := range 33 {
		s.wantFirst(10 + n) // the days 0 and 10 end
	}
	s.wantSequences(-3, 42, 3+34)
	awaitRemovals(5)
	s.wantSequences(-3, 42, 32)
}

// TestAdvancePeriods: after a restore each period is moved ahead that is not over, and those of clocks that differ by
// less than an hour. Others begin at 1.
func TestAdvancePeriods(t *testing.T) { synctest.Test(t, testAdvancePeriods) }

func testAdvancePeriods(t *testing.T) {
	s := startDaily(t, storetest.Memory(t), worker.Options{})
	for n := range 35 {
		s.wantFirst(n) // the days 0, 1 and 2 end
	}
	s.clock.set(day(36).Add(11*time.Hour + 30*time.Minute)) // half an hour before the next day
	done, err := s.Advance(t.Context(), "bills", worker.AdvanceOptions{Steps: 5000})
	if err != nil || len(done.Sequences) != 34 || len(done.Exhausted) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	fresh := startDaily(t, s.store, worker.Options{})
	for _, n := range []int{2, 3, 34, 35, 36, 37, 38} {
		moved := n == 3 || n == 34 || n == 36 || n == 37
		fresh.clock.set(day(n))
		ids, err := fresh.Formatted(t.Context(), nil, "bills", 1)
		if over := n == 2; over != (err != nil) {
			t.Errorf("day %d: %v, %v", n, ids, err)
		} else if _, number, _ := strings.Cut(fmt.Sprint(ids), "-"); !over && moved != (len(number) > len("1]")) {
			t.Errorf("day %d begins with %v, it was moved: %t", n, ids, moved)
		}
	}
}

// TestClockAhead: a worker with a clock that stays years ahead ends no period that the others
// use.
func TestClockAhead(t *testing.T) { synctest.Test(t, testClockAhead) }

func testClockAhead(t *testing.T) {
	shared := storetest.Memory(t)
	s, ahead := startDaily(t, shared, worker.Options{}), startDaily(t, shared, worker.Options{})
	for n := range 100 {
		s.wantFirst(n)
		ahead.wantFirst(n + 1000)
		if n > 10 {
			s.clock.set(day(n - 10))
			if _, err := s.Formatted(t.Context(), nil, "bills", 1); err != nil {
				t.Errorf("10 days before the day %d: %v", n, err)
			}
		}
	}
	awaitRemovals(2)
	s.wantSequences(0, 99, 16)
}

// TestPeriodsAtRandom: workers that restart and have wandering clocks, on a store that
// fails and loses answers, give no ID twice.
func TestPeriodsAtRandom(t *testing.T) { synctest.Test(t, testPeriodsAtRandom) }

func testPeriodsAtRandom(t *testing.T) {
	r := seed.Rand(t)
	shared := storetest.Memory(t)
	var faults atomic.Int64
	var sound atomic.Bool
	faulty := storetest.Faulty(shared, func(c storetest.Call) (f storetest.Fault) {
		if sound.Load() || !strings.HasPrefix(c.Name, "bills#") {
			return f
		}
		n := faults.Add(1) * 0x9e3779b9 >> 7
		f.Fail, f.Lose = n%11 == 0, n%11 == 1
		return f
	})
	start := func() dailyService {
		sound.Store(true)
		defer sound.Store(false)
		return startDaily(t, faulty, worker.Options{BatchSize: 4, MaxBatch: 4, Idle: 2 * time.Minute, MinBackoff: 10 * time.Second, MaxBackoff: time.Minute})
	}
	workers := []dailyService{start(), start(), start(), start()}
	seen := map[string]bool{}
	for n := range 800 {
		i := r.IntN(len(workers))
		w := workers[i]
		if r.IntN(100) == 0 {
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			w = start()
			workers[i] = w
		}
		w.clock.set(day(n/4 - []int{0, 0, 1, 35, 60}[r.IntN(5)] + r.IntN(2)))
		ids, _ := w.Formatted(t.Context(), nil, "bills", 1+r.IntN(6)) // may fail, by the store or by the clock
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("the ID %s came twice", id)
			}
			seen[id] = true
		}
		if r.IntN(20) == 0 {
			awaitRemovals(1)
		}
	}
	if len(seen) < 800 {
		t.Errorf("%d IDs", len(seen))
	}
	awaitRemovals(5)
	sound.Store(true)
	workers[0].clock.set(day(100))
	if ids, err := workers[0].Formatted(t.Context(), nil, "bills", 1); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("a day that ended long ago: %v, %v", ids, err)
	}
}
