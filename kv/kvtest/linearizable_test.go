// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"strings"
	"testing"
)

// Histories of one register, made by hand.
func TestNotLinearizable(t *testing.T) {
	op := func(began, ended int, kind pointKind, arg, got register) *pointOp {
		return &pointOp{lifetime: lifetime{began, ended, committed}, kind: kind, key: "k", arg: arg, got: got}
	}
	with := func(o *pointOp, as outcome) *pointOp { o.outcome = as; return o }
	const nothing = emptyRegister
	for _, tt := range []struct {
		name string
		ops  []*pointOp
		want bool
	}{
		{"one after another", []*pointOp{op(1, 2, setOp, 5, 0), op(3, 4, addOp, 2, 0), op(5, 6, getOp, 0, 7), op(7, 8, clearOp, 0, 0), op(9, 10, getOp, 0, nothing)}, true},
		{"a stale read", []*pointOp{op(1, 2, setOp, 5, 0), op(3, 4, getOp, 0, nothing)}, false},
		{"a read beside a write", []*pointOp{op(1, 4, setOp, 5, 0), op(2, 3, getOp, 0, nothing), op(2, 5, getOp, 0, 5)}, true},
		{"new, then old", []*pointOp{op(1, 9, setOp, 5, 0), op(2, 3, getOp, 0, 5), op(4, 5, getOp, 0, nothing)}, false},
		{"a value from nowhere", []*pointOp{op(1, 2, getOp, 0, 3)}, false},
		{"a lost update", []*pointOp{op(1, 4, modifyOp, 5, nothing), op(2, 3, modifyOp, 6, nothing)}, false},
		{"an update after another", []*pointOp{op(1, 4, modifyOp, 5, 6), op(2, 3, modifyOp, 6, nothing)}, true},
		{"a lost addition", []*pointOp{op(1, 3, addOp, 1, 0), op(2, 4, addOp, 1, 0), op(5, 6, getOp, 0, 1)}, false},
		{"two additions", []*pointOp{op(1, 3, addOp, 1, 0), op(2, 4, addOp, 1, 0), op(5, 6, getOp, 0, 2)}, true},
		{"compared and cleared", []*pointOp{op(1, 2, setOp, 5, 0), op(3, 4, unsetOp, 5, 0), op(5, 6, getOp, 0, nothing)}, true},
		{"compared with another and cleared", []*pointOp{op(1, 2, setOp, 5, 0), op(3, 4, unsetOp, 6, 0), op(5, 6, getOp, 0, nothing)}, false},
		{"compared and not cleared", []*pointOp{op(1, 2, setOp, 5, 0), op(3, 4, unsetOp, 5, 0), op(5, 6, getOp, 0, 5)}, false},
		{"perhaps, and yes", []*pointOp{with(op(1, 2, setOp, 5, 0), unknown), op(3, 4, getOp, 0, 5)}, true},
		{"perhaps, and no", []*pointOp{with(op(1, 2, setOp, 5, 0), unknown), op(3, 4, getOp, 0, nothing)}, true},
		{"perhaps, and first yes, then no", []*pointOp{with(op(1, 2, setOp, 5, 0), unknown), op(3, 4, getOp, 0, 5), op(5, 6, getOp, 0, nothing)}, false},
		{"an addition that happened twice", []*pointOp{with(op(1, 2, addOp, 1, 0), unknown), op(3, 4, getOp, 0, 2)}, false},
		{"failed, and yes", []*pointOp{with(op(1, 2, setOp, 5, 0), failed), op(3, 4, getOp, 0, 5)}, false},
	} {
		faults := notLinearizable(tt.ops)
		if (len(faults) == 0) != tt.want {
			t.Errorf("%s: %q", tt.name, faults)
		}
	}
}

// The fault that is shown ends with the operation that cannot be.
func TestFirstFault(t *testing.T) {
	var ops []*pointOp
	for i := range 100 {
		ops = append(ops, &pointOp{lifetime: lifetime{2 * i, 2*i + 1, committed}, kind: addOp, key: "k", arg: 1})
	}
	read := &pointOp{lifetime: lifetime{81, 82, committed}, kind: getOp, key: "k", got: 7}
	faults := notLinearizable(append(ops, read))
	if len(faults) != 1 || !strings.HasSuffix(faults[0], "[81–82] get(k) = 7") || strings.Count(faults[0], ";") != 19 {
		t.Errorf("faults: %q", faults)
	}
}

func TestLinearizableEngines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		CheckLinearizable(t, openMemory(t), LoadOptions{Seed: SeedT(t), Goroutines: goroutines})
	}
	CheckLinearizable(t, HostileT(t, openMemory(t)), LoadOptions{Seed: SeedT(t), Transactions: 20})
}
