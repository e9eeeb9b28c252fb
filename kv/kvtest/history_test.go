// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// did is a committed attempt at an instant of its own, given by its number.
func did(id int, appends []string, reads ...observation) attempt {
	return attempt{id: id, began: 1, ended: 1000 + id, appends: appends, reads: reads}
}

func sees(key string, list ...int) observation { return observation{key, list} }

func TestAnalyse(t *testing.T) {
	x, y, xy := []string{"x"}, []string{"y"}, []string{"x", "y"}
	at := func(a attempt, began, ended int, o outcome) attempt {
		a.began, a.ended, a.outcome = began, ended, o
		return a
	}
	last := func(reads ...observation) attempt { return at(did(99, nil, reads...), 5000, 5001, committed) }
	for _, tt := range []struct {
		name    string
		history []attempt
		want    string // part of the fault, "" for none
	}{
		{"one after another", []attempt{did(1, x, sees("x")), did(2, x, sees("x", 1)), last(sees("x", 1, 2))}, ""},
		{"a lost update", []attempt{did(1, x, sees("x")), did(2, x, sees("x")), last(sees("x", 2))}, "T1 appended to x"},
		{"two appends after the same read", []attempt{did(1, x, sees("x")), did(2, x, sees("x")), last(sees("x", 1, 2))}, "cycle"},
		{"write skew", []attempt{did(1, x, sees("y")), did(2, y, sees("x")), last(sees("x", 1), sees("y", 2))}, "rw"},
		{"half a transaction", []attempt{did(1, xy), did(2, nil, sees("x", 1), sees("y")), last(sees("x", 1), sees("y", 1))}, "cycle"},
		{"a failed write is seen", []attempt{at(did(1, x), 1, 2, failed), last(sees("x", 1))}, "whose transaction failed"},
		{"a write from nowhere", []attempt{last(sees("x", 7))}, "nobody wrote"},
		{"a write twice", []attempt{did(1, x), last(sees("x", 1, 1))}, "twice"},
		{"two orders", []attempt{did(1, x), did(2, x), did(3, nil, sees("x", 2)), last(sees("x", 1, 2))}, "no beginning"},
		{"a committed write is missing", []attempt{did(1, x), last(sees("x"))}, "T1 appended to x"},
		{"an unknown write that happened", []attempt{at(did(1, x), 1, 2, unknown), last(sees("x", 1))}, ""},
		{"an unknown write that did not", []attempt{at(did(1, x), 1, 2, unknown), last(sees("x"))}, ""},
		{"half of an unknown write", []attempt{at(did(1, xy), 1, 2, unknown), last(sees("x", 1), sees("y"))}, "T1 appended to y"},
		{"a stale read", []attempt{at(did(1, x), 1, 2, committed), at(did(2, nil, sees("x")), 3, 4, committed), last(sees("x", 1))}, "instant"},
		{"an old read that overlapped", []attempt{at(did(1, x), 1, 4, committed), at(did(2, nil, sees("x")), 3, 5, committed), last(sees("x", 1))}, ""},
		{"an unknown write that happened late", []attempt{at(did(1, x), 1, 2, unknown), at(did(2, nil, sees("x")), 3, 4, committed), last(sees("x", 1))}, ""},
	} {
		got := strings.Join(analyse(tt.history), "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSerializableEngines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		CheckSerializable(t, openMemory(t), SerializableOptions{Seed: SeedT(t), Goroutines: goroutines})
	}
	CheckSerializable(t, HostileT(t, openMemory(t)), SerializableOptions{Seed: SeedT(t), Transactions: 20})
}

func TestUnserializableEnginesAreFoundOut(t *testing.T) {
	for name, spoil := range map[string]func(kv.Transaction) kv.Transaction{
		"no read conflicts": func(tx kv.Transaction) kv.Transaction { return noReadConflict{tx} },
		"no phantoms":       func(tx kv.Transaction) kv.Transaction { return noPhantom{tx} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(50) {
				failures := record(t, func(tb testing.TB) {
					CheckSerializable(tb, wrongDB{openMemory(tb), spoil}, SerializableOptions{Seed: seed, Goroutines: 16, Transactions: 60})
				})
				if len(failures) > 0 {
					return
				}
			}
			t.Error("fifty runs found nothing")
		})
	}
}
