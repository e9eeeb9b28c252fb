// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// TestVacanciesEvictTheOldest remembers far more ranges than may be: those found
// last stay, and there is never less than half of what there may be.
func TestVacanciesEvictTheOldest(t *testing.T) {
	w := NewDurableWindow(NewJournal(1, 1<<20), Leaps{})
	keys := func(i int) kv.KeyRange {
		return kv.KeyRange{Begin: fmt.Appendf(nil, "%08d/a", i), End: fmt.Appendf(nil, "%08d/b", i)}
	}
	hot := kv.KeyRange{Begin: []byte("queue"), End: []byte("queue/")}
	for i := range 5 * MostVacancies {
		w.addVacancy(vacancy{keys: keys((i * 7919) % (5 * MostVacancies)), version: w.forgotten})
		hot.End = fmt.Appendf(nil, "queue/%08d", i) // is found again and again, and grows
		w.addVacancy(vacancy{keys: hot, version: w.forgotten})
		if w.vacant.Len() > MostVacancies || i > MostVacancies && w.vacant.Len() < MostVacancies/2 {
			t.Fatalf("%d vacancies are remembered", w.vacant.Len())
		}
		if _, in := w.vacant.Find(hot.Begin, false); !in {
			t.Fatalf("after %d others the vacancy that was found last is forgotten", i)
		}
		for back := 0; back < min(i, MostVacancies/2); back += 64 {
			if _, in := w.vacant.Find(keys(((i-back)*7919)%(5*MostVacancies)).Begin, false); !in {
				t.Fatalf("after %d others a vacancy is forgotten that was found %d before", i, back)
			}
		}
	}
}

// TestVersionOfAnOpenTransaction asks for the view of a version that is still read,
// followed by more commits than the history holds by itself.
func TestVersionOfAnOpenTransaction(t *testing.T) {
	const at, commits = 2500, 1024
	var h Head
	w, key := NewMemoryWindow(), []byte("n")
	if err := h.Open(w, nil, 0, commits*1000); err != nil {
		t.Fatal(err)
	}
	commit := func(from, to int) {
		for i := from; i < to; i++ {
			m := mutation.Mutation{Op: mutation.OpSet, Key: key, Value: binary.BigEndian.AppendUint64(nil, uint64(i))}
			version := h.Assign()
			w.Apply(&m, version, true)
			v, cost := w.Snapshot(version, []mutation.Mutation{m})
			h.Publish(v, cost)
		}
	}
	commit(0, at+1)
	read := h.Acquire()
	commit(at+1, at+3*commits)
	runtime.GC()

	v, err := h.At(read.Version())
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Get(key)
	if want := binary.BigEndian.AppendUint64(nil, at); err != nil || !bytes.Equal(got, want) {
		t.Errorf("at the version that is read: %x, %v, want %x", got, err, want)
	}
	if n := len(h.past.views); n < 3*commits {
		t.Errorf("the history has %d views, fewer than there were commits", n)
	}
	if h.past.held <= at {
		t.Errorf("the history holds all views from %d on by itself", h.past.held)
	}
	runtime.KeepAlive(read)
}

// TestOldestReadOfAnIdleDatabase reads the newest version long after its commit, and
// commits again: what the reader reads is not older than it says.
func TestOldestReadOfAnIdleDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Head
		w := NewMemoryWindow()
		if err := h.Open(w, nil, 0, 1<<16); err != nil {
			t.Fatal(err)
		}
		publish := func() int64 {
			version := h.Assign()
			v, cost := w.Snapshot(version, nil)
			h.Publish(v, cost)
			return version
		}
		first := publish()
		time.Sleep(time.Minute)
		read := h.Acquire()
		time.Sleep(time.Second)
		publish()
		h.Acquire() // becomes garbage without a release
		second := publish()
		h.ReleasePast()
		if got := h.OldestRead(h.Now() - WindowVersions); got != first {
			t.Errorf("the oldest version that is read is %d, want %d: a transaction reads %d", got, first, read.Version())
		}
		read.Release()
		runtime.GC()
		if got := h.OldestRead(h.Now() - WindowVersions); got != second {
			t.Errorf("without readers the oldest version that is read is %d, want %d", got, second)
		}
		h.Close()
	})
}

// TestReleasedViewsAreFreed lets the history drop the entries of views that are
// too old, and then release all others: none but the newest may stay in memory.
func TestReleasedViewsAreFreed(t *testing.T) {
	const views = 4000
	h := history{limit: math.MaxInt64}
	var all []weak.Pointer[View]
	for i := range views {
		v := &View{version: int64(i) * 4 * WindowVersions / views}
		all = append(all, weak.Make(v))
		h.add(v, 1)
	}
	if len(h.views) == views {
		t.Fatal("the history has dropped no entry: the test needs more views")
	}
	h.release()
	runtime.GC()
	for i, v := range all[:views-1] {
		if v.Value() != nil {
			t.Fatalf("view %d of %d is in memory, although it was released", i, views)
		}
	}
	runtime.KeepAlive(&h)
}

// TestConflictFoundAfterSplits writes one key that a transaction has read, and
// then ever more keys that are no write conflict ranges: the conflict is found
// however the window's tree has grown by then.
func TestConflictFoundAfterSplits(t *testing.T) {
	w := NewMemoryWindow()
	r := NewResolver(w)
	const before = 100
	write := func(key []byte, version int64, conflict bool) {
		m := mutation.Mutation{Op: mutation.OpSet, Key: key, Value: []byte{}}
		if !conflict {
			r.Preserve(&m)
		}
		w.Apply(&m, version, conflict)
	}
	read := []kv.KeyRange{keys.Single([]byte("key 999999"))}
	write(read[0].Begin, before+1, true)
	for i := range 3 * 32 * 32 {
		write(fmt.Appendf(nil, "key %06d", i), before+2+int64(i), false)
		if !r.Conflicts(read, before) {
			t.Fatalf("after %d other keys the conflict is not found", i+1)
		}
	}
}

// TestSweepKeepsUp adds a thousand keys to the resolver before each sweep, for a long time: it
// keeps those that a transaction may still conflict with, and about as many.
func TestSweepKeepsUp(t *testing.T) {
	const rounds, added = 100, 1000
	r := NewResolver(NewMemoryWindow())
	for round := range int64(rounds) {
		for i := range added {
			r.AddKey(fmt.Appendf(nil, "key %d of round %d", i*7919%added, round), round+1)
		}
		r.Sweep(round+1, LeastSwept)
		if !r.Conflicts([]kv.KeyRange{keys.Single(fmt.Appendf(nil, "key 7 of round %d", round))}, round) {
			t.Fatalf("round %d: the last key is forgotten", round)
		}
	}
	steps := 0
	for range r.Steps() {
		steps++
	}
	t.Logf("%d steps", steps)
	if steps > 5*added {
		t.Errorf("after %d rounds the resolver has %d steps; each round added %d keys", rounds, steps, added)
	}
}
