// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []int
		want   int
	}{{[]int{7}, 7}, {[]int{3, 9, 1}, 3}, {[]int{5, 1, 2, 100, 4, 3, 6}, 4}} {
		if got := Median(test.values); got != test.want {
			t.Errorf("Median(%v) = %d, want %d", test.values, got, test.want)
		}
	}
}

func TestRoundRunsEachOperationOnce(t *testing.T) {
	const ops = 1000
	var seen [ops]atomic.Int32
	e := Entrant{
		Goroutines: 8,
		Op:         func(w *Worker) error { seen[w.N].Add(1); return nil },
		Check: func(n int) error {
			if n != ops {
				t.Errorf("Check(%d) after %d operations", n, ops)
			}
			return nil
		},
	}
	if done, _, err := e.Round(ops, 0, nil); err != nil || done != ops {
		t.Fatal(done, err)
	}
	for i := range seen {
		if n := seen[i].Load(); n != 1 {
			t.Fatalf("operation %d ran %d times", i, n)
		}
	}
}

func TestRoundFails(t *testing.T) {
	broken := errors.New("broken")
	fail := func() error { return broken }
	fine := func(*Worker) error { return nil }
	for name, e := range map[string]Entrant{
		"Prepare": {Prepare: fail, Op: fine},
		"Op":      {Op: func(*Worker) error { return broken }},
		"Check":   {Op: fine, Check: func(int) error { return broken }},
	} {
		if _, _, err := e.Round(3, 0, nil); !errors.Is(err, broken) {
			t.Errorf("a round with a failing %s: %v", name, err)
		}
	}
}

// TestRunner runs a contest between an entrant and one that does ten times as many operations in
// the same time.
func TestRunner(t *testing.T) {
	var turns []string
	nap := func(*Worker) error {
		time.Sleep(time.Millisecond)
		return nil
	}
	closed := false
	stage := Stage{Name: "nap", Open: func(string) (*Set, error) {
		return &Set{
			Contests: []Contest{
				{Name: "nap-1", About: "naps", Entrants: []Entrant{
					{Name: "one", Ops: 3, Op: nap},
					{Name: "ten", Ops: 30, Goroutines: 10, Op: nap, Least: 0.5},
				}, Fixed: []FixedRate{{Name: "an hour", Rate: 1. / 3600, Least: 1}}},
				{Name: "nap-2", Entrants: []Entrant{{Op: func(*Worker) error { return errors.New("not asked for") }}}},
			},
			Close: func() error { closed = true; return nil },
		}, nil
	}}
	r := Runner{
		Rounds: 3, Dir: t.TempDir(), Contests: regexp.MustCompile("1$"),
		Turn: func(c *Contest, entrant int) func() {
			turns = append(turns, c.Entrants[entrant].Name)
			return func() {}
		},
	}
	var results []Result
	synctest.Test(t, func(*testing.T) { // in which naps are as long as they should be
		all, err := r.Run([]Stage{stage})
		if err != nil {
			t.Fatal(err)
		}
		results = all
	})
	if got, want := strings.Join(turns, " "), "one ten ten one one ten ten one"; got != want {
		t.Errorf("turns %s, want %s", got, want)
	}
	if len(results) != 1 || len(results[0].Fsync) != 3 || !closed {
		t.Fatalf("results %v, closed: %v", results, closed)
	}
	rows := results[0].Rows()
	if len(rows) != 2 || rows[0].Verdict() != "MISS" || rows[1].Verdict() != "pass" {
		t.Errorf("rows %+v", rows)
	}
	if left, err := os.ReadDir(r.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRoundOfASpan: a round of a span ends when the time is over, and counts its operations.
func TestRoundOfASpan(t *testing.T) {
	var ran atomic.Int64
	e := Entrant{
		Goroutines: 4,
		Op: func(*Worker) error {
			ran.Add(1)
			time.Sleep(time.Millisecond)
			return nil
		},
		Check: func(ops int) error {
			if int64(ops) != ran.Load() {
				t.Errorf("Check(%d) after %d operations", ops, ran.Load())
			}
			return nil
		},
	}
	synctest.Test(t, func(*testing.T) {
		done, took, err := e.Round(0, 50*time.Millisecond, nil)
		if err != nil || done < 4*50 || done > 4*51 || took < 50*time.Millisecond || took > 51*time.Millisecond {
			t.Errorf("%d operations in %v, %v", done, took, err)
		}
	})
}

func TestLatencyIsComparedAsTime(t *testing.T) {
	report := Report([]Result{{
		Contest: Contest{Latency: true, Entrants: []Entrant{{Name: "behind"}, {Name: "none", Least: 0.1}}},
		Rates:   [][]float64{{1000, 1000, 500}, {5000, 5000, 5000}},
	}}, 3)
	if want := "| 1.00 ms | **5.00 ×** the time (5.00–10.0); ≤ 10 × |"; !strings.Contains(report, want) {
		t.Errorf("no %q in\n%s", want, report)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 0.000321: "0.00032", 0.5: "0.50", 7: "7.00", 65.04: "65.0", 1045: "1.04 k", 123_456: "123 k", 2.5e6: "2.50 M"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%v) = %q, want %q", n, got, want)
		}
	}
}

func TestWriteSection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "doc.md")
	text := "before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteSection(file, "a", "new"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "before\n<!-- a: begin -->\n\nnew\n<!-- a: end -->\nafter\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := WriteSection(file, "b", "new"); err == nil {
		t.Error("a section that is not there was written")
	}
}
