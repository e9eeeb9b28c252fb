// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/kazahana-db/kazahana/kv"
)

// CheckLinearizable runs random point operations against db, each a transaction
// of its own: get, set, clear, add, compare-and-clear, and a read-modify-write.
// It fails t unless every key behaves as one register on which each operation
// takes effect at once, some time between its call and its return (Herlihy and
// Wing, "Linearizability", 1990), which the porcupine checker decides. Every key
// is decided apart: a set of registers is linearizable if each is. An operation
// whose outcome is unknown (see [kv.IsMaybeCommitted]) has happened or not by the
// time of its return.
//
// It replaces the contents below \xff, and works on a [Hostile] database as well.
func CheckLinearizable(t testing.TB, db kv.Database, o LoadOptions) {
	t.Helper()
	load := &pointLoad{
		clients: clients{ctx: context.Background(), db: db, seed: o.Seed},
		keys:    cmp.Or(o.Keys, 5), count: cmp.Or(o.Transactions, 50),
	}
	if err := load.run(cmp.Or(o.Goroutines, 8)); err != nil {
		t.Fatalf("seed %d: the load cannot run: %v", o.Seed, err)
	}
	report(t, o.Seed, len(load.done), "not linearizable", notLinearizable(load.done))
}

// pointOp is an operation on one key, and what it answered.
type pointOp struct {
	lifetime
	kind pointKind
	key  string
	arg  register // what it writes, adds or compares with
	got  register // what it read
}

type pointKind string

const (
	getOp    pointKind = "get"
	setOp    pointKind = "set"
	clearOp  pointKind = "clear"
	addOp    pointKind = "add"
	unsetOp  pointKind = "compare and clear"
	modifyOp pointKind = "read-modify-write"
)

// register is the number that a key holds.
type register int64

// emptyRegister is that of a key that is absent.
const emptyRegister register = math.MinInt64

func (r register) String() string {
	if r == emptyRegister {
		return "nothing"
	}
	return fmt.Sprint(int64(r))
}

func (o *pointOp) String() string {
	text := fmt.Sprintf("%s(%s", o.kind, o.key)
	if o.kind != getOp && o.kind != clearOp {
		text += ", " + o.arg.String()
	}
	text += ")"
	if o.reads() {
		text += " = " + o.got.String()
	}
	if o.outcome == unknown {
		text += ", perhaps"
	}
	return text
}

func (o *pointOp) reads() bool { return o.kind == getOp || o.kind == modifyOp }

// apply returns the state after the operation, and whether it can have taken
// place in the state before.
func (o *pointOp) apply(state register) (register, bool) {
	switch o.kind {
	case setOp:
		return o.arg, true
	case clearOp:
		return emptyRegister, true
	case addOp:
		return max(state, 0) + o.arg, true // nothing counts as zero
	case unsetOp:
		if state == o.arg {
			return emptyRegister, true
		}
		return state, true
	case modifyOp:
		return o.arg, state == o.got
	}
	return state, state == o.got
}

// registerModel is a register for porcupine.
var registerModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{emptyRegister} },
	Step: func(state, input, _ any) (next []any) {
		op := input.(*pointOp)
		if after, ok := op.apply(state.(register)); ok {
			next = append(next, after)
		}
		if op.outcome == unknown {
			next = append(next, state)
		}
		return next
	},
}).ToModel()

// notLinearizable names the keys that are no registers, with the operations
// before the first that fits no order.
func notLinearizable(done []*pointOp) (faults []string) {
	byKey := map[string][]*pointOp{}
	for _, op := range done {
		byKey[op.key] = append(byKey[op.key], op)
	}
	for key, ops := range byKey {
		if porcupine.CheckOperations(registerModel, operations(ops)) {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s: what the last of these did fits no order: %s", key, firstFault(ops)))
	}
	slices.Sort(faults)
	return faults
}

// operations leaves out what certainly did not happen.
func operations(ops []*pointOp) (all []porcupine.Operation) {
	for _, op := range ops {
		if op.outcome != failed {
			all = append(all, porcupine.Operation{Input: op, Call: int64(op.began), Return: int64(op.ended)})
		}
	}
	return all
}

// prefix is the history up to its n-th return. What was under way then may have
// happened or not.
func prefix(byEnd []*pointOp, n int) []*pointOp {
	ops := slices.Clone(byEnd[:n])
	for _, op := range byEnd[n:] {
		if op.began < byEnd[n-1].ended {
			pending := *op
			pending.outcome = unknown
			ops = append(ops, &pending)
		}
	}
	return ops
}

// firstFault shows the twenty operations up to the first return that makes the
// history impossible.
func firstFault(ops []*pointOp) string {
	byEnd := slices.SortedFunc(slices.Values(ops), func(a, b *pointOp) int { return cmp.Compare(a.ended, b.ended) })
	n := 1 + sort.Search(len(byEnd)-1, func(i int) bool {
		return !porcupine.CheckOperations(registerModel, operations(prefix(byEnd, i+1)))
	})
	var texts []string
	for _, op := range byEnd[max(0, n-20):n] {
		texts = append(texts, fmt.Sprintf("[%d–%d] %v", op.began, op.ended, op))
	}
	return strings.Join(texts, "; ")
}
