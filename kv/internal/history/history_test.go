// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/naive"
	"github.com/kazahana-db/kazahana/kv/internal/record"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// did is a committed attempt, at the same time as all others, that appended its
// number to keys.
func did(id int, keys []string, reads ...observation) attempt {
	a := attempt{id: id, lifetime: lifetime{1, 1000 + id, committed}, reads: reads}
	for i, key := range keys {
		a.appends = append(a.appends, element{key, id + 100*i}) // 1, 101, 201…
	}
	return a
}

// at is the same attempt with other times and another outcome.
func (a attempt) at(began, ended int, o outcome) attempt {
	a.lifetime = lifetime{began, ended, o}
	return a
}

func sees(key string, list ...int) observation { return observation{key: key, list: list} }

// finds is what a range read sees of a key.
func finds(key string, list ...int) observation {
	return observation{key: key, list: list, ranged: true}
}

// last reads everything at the end.
func last(reads ...observation) attempt { return did(99, nil, reads...).at(5000, 5001, committed) }

// The histories of every anomaly, made by hand, and their innocent neighbours.
func TestAnalyse(t *testing.T) {
	x, y, xy, xx := []string{"x"}, []string{"y"}, []string{"x", "y"}, []string{"x", "x"}
	for _, tt := range []struct {
		name    string
		history []attempt
		want    string // how the fault begins, "" for none
	}{
		{"one after another", []attempt{did(1, x, sees("x")), did(2, x, sees("x", 1)), last(sees("x", 1, 2))}, ""},
		{"two appends of one, seen together", []attempt{did(1, xx), did(2, nil, sees("x", 1, 101)), last(sees("x", 1, 101))}, ""},
		{"an old snapshot that overlapped", []attempt{did(1, xy), did(2, nil, sees("x"), sees("y")), last(sees("x", 1), sees("y", 101))}, ""},
		{"a range that was read before a key appeared", []attempt{did(1, x), did(2, y, finds("x")), last(sees("x", 1), sees("y", 2))}, ""},

		{"G0", []attempt{did(1, xy), did(2, xy), last(sees("x", 1, 2), sees("y", 102, 101))}, "G0 (dirty write): T1 –ww x→ T2 –ww y→ T1"},
		{"G0 on one key", []attempt{did(1, xx), did(2, x), last(sees("x", 1, 2, 101))}, "G0 (dirty write): T1 appended"},
		{"G0 of two appends that changed places", []attempt{did(1, xx), last(sees("x", 101, 1))}, "G1b"},
		{"G1a", []attempt{did(1, x).at(1, 2, failed), last(sees("x", 1))}, "G1a (aborted read)"},
		{"G1b", []attempt{did(1, xx), did(2, nil, sees("x", 1)), last(sees("x", 1, 101))}, "G1b (intermediate read)"},
		{"G1c", []attempt{did(1, x, sees("y", 2)), did(2, y, sees("x", 1)), last(sees("x", 1), sees("y", 2))}, "G1c (circular information flow)"},
		{"G1c by a write", []attempt{did(1, x, sees("y", 102)), did(2, xy), last(sees("x", 1, 2), sees("y", 102))}, "G1c"},
		{"read skew", []attempt{did(1, xy), did(2, nil, sees("x", 1), sees("y")), last(sees("x", 1), sees("y", 101))}, "G-single (read skew)"},
		{"read skew by two writers", []attempt{did(1, x), did(2, y, sees("x", 1)), did(3, nil, sees("x"), sees("y", 2)), last(sees("x", 1), sees("y", 2))}, "G-single (read skew)"},
		{"lost update", []attempt{did(1, x, sees("x")), did(2, x, sees("x")), last(sees("x", 1, 2))}, "G-single (lost update)"},
		{"lost update that left nothing", []attempt{did(1, x, sees("x")), did(2, x, sees("x")), last(sees("x", 2))}, "lost update: T1 appended 1 to x"},
		{"write skew", []attempt{did(1, x, sees("y")), did(2, y, sees("x")), last(sees("x", 1), sees("y", 2))}, "G2 (write skew): T1 –rw y→ T2 –rw x→ T1"},
		{"write skew of three", []attempt{did(1, x, sees("y")), did(2, y, sees("z")), did(3, []string{"z"}, sees("x")), last(sees("x", 1), sees("y", 2), sees("z", 3))}, "G2"},
		{"phantom", []attempt{did(1, x, finds("y")), did(2, y, finds("x")), last(sees("x", 1), sees("y", 2))}, "G2 (write skew): T1 –rw y (a phantom)→ T2"},
		{"phantom between two scans", []attempt{did(1, xy), did(2, nil, finds("x"), finds("y", 101)), last(sees("x", 1), sees("y", 101))}, "G-single (read skew): T2 –rw x (a phantom)→ T1"},

		{"a write from nowhere", []attempt{last(sees("x", 7))}, "x holds 7, which nobody wrote"},
		{"a write of another key", []attempt{did(1, y), last(sees("x", 1), sees("y", 1))}, "x holds 1, which nobody wrote"},
		{"a write twice", []attempt{did(1, x), last(sees("x", 1, 1))}, "x holds 1 twice"},
		{"two orders", []attempt{did(1, x), did(2, x), did(3, nil, sees("x", 2)), last(sees("x", 1, 2))}, "incompatible orders"},
		{"a committed write is missing", []attempt{did(1, x), last(sees("x"))}, "lost update: T1 appended 1 to x"},

		{"an unknown write that happened", []attempt{did(1, x).at(1, 2, unknown), last(sees("x", 1))}, ""},
		{"an unknown write that did not", []attempt{did(1, x).at(1, 2, unknown), last(sees("x"))}, ""},
		{"an unknown write that happened late", []attempt{did(1, x).at(1, 2, unknown), did(2, nil, sees("x")).at(3, 4, committed), last(sees("x", 1))}, ""},
		{"half of an unknown write", []attempt{did(1, xy).at(1, 2, unknown), last(sees("x", 1), sees("y"))}, "lost update: T1 appended 101 to y"},
		{"the reads of an unknown write that did not happen", []attempt{did(1, x, sees("y", 2)).at(1, 2, unknown), did(2, y, sees("x")), last(sees("x"), sees("y", 2))}, ""},

		{"a stale read", []attempt{did(1, x).at(1, 2, committed), did(2, nil, sees("x")).at(3, 4, committed), last(sees("x", 1))}, "G-single against real time (stale read)"},
		{"a read that overlapped", []attempt{did(1, x).at(1, 4, committed), did(2, nil, sees("x")).at(3, 5, committed), last(sees("x", 1))}, ""},
		{"a write that went before an older one", []attempt{did(1, x).at(1, 2, committed), did(2, x).at(3, 4, committed), last(sees("x", 2, 1))}, "G0 against real time"},
		{"a read of the future", []attempt{did(1, nil, sees("x", 2)).at(1, 2, committed), did(2, x).at(3, 4, committed), last(sees("x", 2))}, "G1c against real time"},
		{"two readers who disagree on who was first", []attempt{
			did(1, x), did(2, y), did(3, nil, sees("x", 1), sees("y")), did(4, nil, sees("x"), sees("y", 2)), last(sees("x", 1), sees("y", 2)),
		}, "G2"},
	} {
		got := strings.Join(analyse(tt.history), "; ")
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSerializableEngines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		CheckSerializable(t, naive.Open(t), LoadOptions{Seed: seed.Of(t), Goroutines: goroutines})
	}
	CheckSerializable(t, faults.HostileT(t, naive.Open(t)), LoadOptions{Seed: seed.Of(t), Transactions: 20})
}

// The checks of random histories, and the faults that each must find.
var historyChecks = []struct {
	name  string
	check func(testing.TB, kv.Database, LoadOptions)
	finds []string
}{
	{"serializable", CheckSerializable, []string{"no read conflicts", "no phantoms", "no selector conflicts", "drifting reads", "dirty writes", "stale reads"}},
	{"commit order", CheckCommitOrder, []string{"no read conflicts", "no phantoms", "no selector conflicts", "drifting reads", "dirty writes", "stale reads", "cleared ranges stay"}},
}

// Each check finds each fault of its list in some of many runs, with seeds that are
// the same every time.
func TestHistoryChecksFindWrongEngines(t *testing.T) {
	for _, c := range historyChecks {
		for _, fault := range c.finds {
			t.Run(c.name+"/"+strings.ReplaceAll(fault, " ", "-"), func(t *testing.T) {
				for seed := range uint64(100) {
					failures := record.Failures(t, func(tb testing.TB) {
						c.check(tb, naive.OpenFaulty(tb, fault), LoadOptions{Seed: seed, Goroutines: 8, Transactions: 40})
					})
					if len(failures) > 0 {
						t.Logf("run %d: %s", seed, failures[0])
						return
					}
				}
				t.Error("a hundred runs found nothing")
			})
		}
	}
}

func TestCommitOrderOfEngines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		load := LoadOptions{Seed: seed.Of(t), Goroutines: goroutines}
		if testing.Short() {
			load.Transactions = 320 / goroutines // the check takes longer than the load, by the square of it
		}
		CheckCommitOrder(t, naive.Open(t), load)
	}
	CheckCommitOrder(t, faults.HostileT(t, naive.Open(t)), LoadOptions{Seed: seed.Of(t), Transactions: 20})
}
