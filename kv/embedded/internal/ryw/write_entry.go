// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// operation is a write to one key. mutation.OpSet with a nil value clears the key.
type operation struct {
	op    kv.MutationType
	value []byte
}

// isIndependent reports whether the operation's result does not depend on the
// value before it.
func (o operation) isIndependent() bool {
	return mutation.IsIndependent(o.op)
}

// span is what a transaction did to a key or to a gap between keys.
type span struct {
	cleared    bool // of a gap
	conflict   bool // it is a write conflict range
	unreadable bool // its content awaits a versionstamp
}

// writeEntry is one key of a transaction's writes and the gap behind it. An entry
// without operations only bounds gaps: its key belongs to the gap behind it.
type writeEntry struct {
	ops []operation // in order, folded where that is exact
	key span
	gap span
}

// needsStored reports whether the value needs that of the database.
func (w *writeEntry) needsStored() bool { return len(w.ops) > 0 && !w.ops[0].isIndependent() }

// hidesStored reports whether the key's operations hide the database's value from
// the transaction's reads, so that they cause no read conflict.
func (w *writeEntry) hidesStored() bool { return w.gap.cleared || !w.needsStored() }

// withOperation returns what an entry without operations, or with some, becomes with one
// more. The entry keeps added, which holds that one.
func (w writeEntry) withOperation(added []operation, conflict bool) writeEntry {
	op, here := added[0], w.gap
	if len(w.ops) > 0 {
		here = w.key
	}
	stamps := op.op == kv.SetVersionstampedKey || op.op == kv.SetVersionstampedValue
	next := writeEntry{gap: w.gap, key: span{
		conflict:   conflict || here.conflict,
		unreadable: here.unreadable || stamps,
	}}
	overCleared := len(w.ops) == 0 && w.gap.cleared && !op.isIndependent()
	replaces := !here.unreadable && (op.op == mutation.OpSet || op.op == kv.SetVersionstampedValue)
	switch {
	case overCleared:
		next.ops = fold([]operation{{op: mutation.OpSet}}, op)
	case len(w.ops) == 0 || replaces:
		next.ops = added
	case !next.key.unreadable:
		next.ops = fold(w.ops, op)
	default:
		next.ops = append(w.ops[:len(w.ops):len(w.ops)], op)
	}
	return next
}

// fold adds an operation to those on one key, merged with the last one if the
// result is the same for every value below (WriteMap::coalesceOver of FoundationDB's
// client). It does not modify ops.
func fold(ops []operation, op operation) []operation {
	last := ops[len(ops)-1]
	ops = ops[:len(ops):len(ops)]
	if mutation.IsAtomic(op.op) && mutation.IsAtomic(last.op) && !(op.op == last.op && mutation.Merges(op.op, last.value, op.value)) {
		return append(ops, op)
	}
	return append(ops[:len(ops)-1:len(ops)-1], merge(last, op))
}

// merge returns the one operation that last and then op come to (WriteMap::coalesce).
func merge(last, op operation) operation {
	if op.op == mutation.OpSet || op.op == kv.SetVersionstampedValue {
		return op
	}
	return operation{op: last.op, value: mutation.Apply(op.op, last.value, op.value)}
}

// applyTo returns what the operations make of the database's value
// (WriteMap::coalesceUnder).
func (w *writeEntry) applyTo(below []byte) []byte {
	if len(w.ops) == 1 && !w.needsStored() {
		return w.ops[0].value
	}
	at := operation{op: mutation.OpSet, value: below}
	for _, op := range w.ops {
		at = merge(at, op)
	}
	return at.value
}
