// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReport has two contests with different peers, and a second form of the first entrant.
func TestReport(t *testing.T) {
	get := newResult(Contest{Name: "get", About: "a get", Times: true, Entrants: []Entrant{
		{Name: "engine"}, {Name: "Pebble", Least: 0.8}, {Name: "engine, as it comes", Form: "as it comes"},
	}})
	for i, rate := range []float64{4000, 2000, 1000} {
		times := &Histogram{}
		times.Add(time.Duration(i+1) * 32)
		get.add(i, turn{rate: rate, processor: float64(i+1) * 1e-6, times: times})
	}
	scan := newResult(Contest{Name: "scan", About: "a scan", Entrants: []Entrant{{Name: "engine"}, {Name: "copied", Least: 5}}})
	scan.add(0, turn{rate: 30})
	scan.add(1, turn{rate: 10})
	scan.Fixed = []FixedRate{{Name: "before", Rate: 60, Least: 0.4}}
	_, tables, _ := strings.Cut(Report([]Result{get, scan}, 1), "\n\n")
	const want = "" +
		"| what | here | Pebble | copied | before |\n" +
		"|---|---|---|---|---|\n" +
		"| a get (`get`) | 4.00 k/s, CPU 1.00 µs | **2.00 ×** (2.00–2.00), CPU 2.00 ×; ≥ 0.8 × |  |  |\n" +
		"| – as it comes | 1.00 k/s, CPU 3.00 µs | **0.50 ×**, CPU 0.67 × |  |  |\n" +
		"| a scan (`scan`) | 30.0/s |  | **3.00 ×** (3.00–3.00); ≥ 5 × **MISS** | **0.50 ×**; ≥ 0.4 × |\n" +
		"\n" +
		"| one operation takes, p50 / p99 | here | Pebble |\n" +
		"|---|---|---|\n" +
		"| a get (`get`) | 32.0 ns / 32.0 ns | 64.0 ns / 64.0 ns |\n" +
		"| – as it comes | 96.0 ns / 96.0 ns |  |\n"
	if tables != want {
		t.Errorf("got\n%s\nwant\n%s", tables, want)
	}
}

func TestProfilerMakesItsFolder(t *testing.T) {
	p := Profiler{Dir: filepath.Join(t.TempDir(), "a", "b")}
	p.Turn(&Contest{Name: "get"}, 0)()
	if _, err := os.Stat(filepath.Join(p.Dir, "get-1.pprof")); errors.Is(err, os.ErrNotExist) {
		t.Error("there is no profile")
	}
}
