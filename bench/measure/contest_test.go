// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestContestSettings runs a contest on one processor. Each operation counts as ten, waits for
// nine tenths of its time, and allocates twice.
func TestContestSettings(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	var kept [][]byte
	synctest.Test(t, func(t *testing.T) {
		c := Contest{
			Name: "batch", Each: 10, Procs: 1, Note: func() string { return "done" },
			Entrants: []Entrant{{Ops: 100, Op: func(w *Worker) error {
				if runtime.GOMAXPROCS(0) != 1 {
					t.Error("not on one processor")
				}
				kept = append(kept[:0], make([]byte, 100), make([]byte, 200))
				time.Sleep(10 * time.Millisecond)
				w.Idle += 9 * time.Millisecond
				return nil
			}}},
		}
		r := Runner{Rounds: 3}
		result, err := r.runContest(c, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if rate := Median(result.Rates[0]); rate != 10_000 { // ten a millisecond
			t.Errorf("%v a second, want 10,000", rate)
		}
		if allocs := Median(result.Allocs[0]); allocs < 0.2 || allocs > 1 { // and those of the round and of sleeping
			t.Errorf("%v allocations each, want 0.2 and a little", allocs)
		}
		if result.Said != "done" {
			t.Errorf("the note is %q", result.Said)
		}
	})
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("GOMAXPROCS is %d, was %d", after, before)
	}
	runtime.KeepAlive(kept)
}

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]string{5.25e-9: "5.25 ns", 43e-9: "43.0 ns", 1.5e-6: "1.50 µs", 0.0123: "12.3 ms", 2: "2.00 s"} {
		if got := Duration(seconds); got != want {
			t.Errorf("Duration(%v) = %q, want %q", seconds, got, want)
		}
	}
}
