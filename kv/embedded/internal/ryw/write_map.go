// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// writeMap holds the writes of a transaction, uncommitted, in key order: what
// its reads see over the database, and what its commit sends. The folding of
// operations is that of FoundationDB's client, because it shows: in which reads
// conflict, in the size, and at the limit of AppendIfFits.
//
// Most transactions set some keys and commit. So operations on keys are only
// listed at first; the map is made of them once it is asked for.
type writeMap struct {
	listed  []mutation.Mutation // clears and operations of single keys that entries does not have yet, each a write conflict range
	byKey   []mutation.Mutation // what was listed when its order was last asked for, in that order
	entries btree.Tree[writeEntry]
}

func (m *writeMap) empty() bool { return len(m.listed) == 0 && m.entries.IsEmpty() }

// distinctMutations returns the operations in the order of keys, if there is nothing else,
// each is a write conflict range, and no key is there twice.
func (m *writeMap) distinctMutations() ([]mutation.Mutation, bool) {
	if m.entries.IsEmpty() {
		sorted := m.sortedList()
		if areDistinct(sorted) {
			return sorted, true
		}
		if folded, ok := foldMutations(sorted); ok {
			return folded, true
		}
	}
	m.sortedEntries() // where a clear meets other operations
	return m.keyMutations()
}

// foldMutations folds the operations on each key, in order, to one. It reports false if there is
// a clear, or if the operations on a key are not one.
func foldMutations(ordered []mutation.Mutation) (folded []mutation.Mutation, ok bool) {
	folded, room := make([]mutation.Mutation, 0, len(ordered)), make([]operation, len(ordered))
	for begin := 0; begin < len(ordered); {
		var w writeEntry
		first := &ordered[begin]
		for ; begin < len(ordered) && bytes.Equal(ordered[begin].Key, first.Key); begin++ {
			l := &ordered[begin]
			if l.Op == mutation.OpClearRange {
				return nil, false
			}
			room[begin] = operation{l.Op, l.Value}
			w = w.withOperation(room[begin:begin+1:begin+1], true)
		}
		if len(w.ops) > 1 {
			return nil, false
		}
		folded = append(folded, mutation.Mutation{Op: w.ops[0].op, Key: first.Key, Value: w.ops[0].value})
	}
	return folded, true
}

// areDistinct reports whether no key is there twice in what is listed, in order, and no
// two clears touch: a commit sends those as one.
func areDistinct(ordered []mutation.Mutation) bool {
	for i := 1; i < len(ordered); i++ {
		before, m := &ordered[i-1], &ordered[i]
		if bytes.Equal(before.Key, m.Key) || before.Op == mutation.OpClearRange && m.Op == mutation.OpClearRange && bytes.Equal(before.Value, m.Key) {
			return false
		}
	}
	return true
}

// keyMutations is distinctMutations of the map.
func (m *writeMap) keyMutations() ([]mutation.Mutation, bool) {
	var (
		mutations []mutation.Mutation
		c         btree.Cursor[writeEntry]
	)
	for ok := c.Seek(&m.entries, nil); ok; ok = c.Next() {
		w := c.Value()
		if w.gap != (span{}) {
			return nil, false
		}
		if len(w.ops) == 0 {
			continue // it only bounds gaps
		}
		op := w.ops[0]
		if len(w.ops) > 1 || !w.key.conflict || op.op == kv.SetVersionstampedKey {
			return nil, false
		}
		mutations = append(mutations, mutation.Mutation{Op: op.op, Key: c.Key(), Value: op.value})
	}
	return mutations, true
}

// floor returns the entry at or before key.
func (m *writeMap) floor(key []byte) ([]byte, writeEntry) {
	at, w := m.sortedEntries().Floor(key)
	if w == nil {
		return nil, writeEntry{}
	}
	return at, *w
}

// ensureFirst makes the map one that covers all keys: its first entry is the empty key.
func (m *writeMap) ensureFirst() {
	if m.sortedEntries().IsEmpty() {
		m.entries.Set([]byte{}, writeEntry{})
	}
}

// boundAt makes key an entry, so that gaps end there.
func (m *writeMap) boundAt(key []byte) {
	m.ensureFirst()
	if at, w := m.floor(key); !bytes.Equal(at, key) {
		m.entries.Set(key, writeEntry{gap: w.gap})
	}
}

// addOperation adds an operation on key. The map keeps key and value.
func (m *writeMap) addOperation(key []byte, op operation, conflict bool) {
	if m.entries.IsEmpty() && conflict && op.op != kv.SetVersionstampedKey {
		m.listed = append(m.listed, mutation.Mutation{Op: op.op, Key: key, Value: op.value})
		return
	}
	m.sortedEntries()
	m.enterOperation(key, op, conflict)
}

// enterOperation is mutate on the map.
func (m *writeMap) enterOperation(key []byte, op operation, conflict bool) {
	m.ensureFirst()
	at, w := m.floor(key)
	if !bytes.Equal(at, key) {
		w = writeEntry{gap: w.gap}
	}
	m.entries.Set(key, w.withOperation([]operation{op}, conflict))
}

// addClear removes the keys from begin to end. The map keeps begin and end.
func (m *writeMap) addClear(begin, end []byte, conflict bool) {
	if m.entries.IsEmpty() && conflict && keys.IsSuccessor(end, begin) {
		m.listed = append(m.listed, mutation.Mutation{Op: mutation.OpClearRange, Key: begin, Value: end})
		return
	}
	m.sortedEntries()
	m.enterClear(begin, end, conflict)
}

// enterClear is clear on the map.
func (m *writeMap) enterClear(begin, end []byte, conflict bool) {
	if conflict {
		m.coverRange(begin, end, span{cleared: true, conflict: true})
		return
	}
	m.boundAt(begin)
	m.boundAt(end)
	var bounds []kv.KeyRange // what conflicts in the range goes on to
	for s := m.segments(begin); s.valid() && bytes.Compare(s.begin(), end) < 0; s.next() {
		if s.span().conflict {
			bounds = append(bounds, kv.KeyRange{Begin: s.begin(), End: s.end(end)})
		}
	}
	m.entries.RemoveRange(begin, end)
	m.ensureFirst()
	m.entries.Set(begin, writeEntry{gap: span{cleared: true}})
	for _, r := range bounds {
		m.addConflict(r.Begin, r.End)
	}
}

// addConflict makes the keys from begin to end a write conflict range.
func (m *writeMap) addConflict(begin, end []byte) {
	for _, bound := range [][]byte{begin, end} {
		if !m.conflictsAround(bound) {
			m.boundAt(bound)
		}
	}
	m.changeSpans(begin, end, func(s *span) { s.conflict = true })
}

// conflictsAround reports whether key is not a bound and lies in a gap that is a write
// conflict range already: then it need not become one. How a range is cut by
// bounds is seen in the size that reading it has.
func (m *writeMap) conflictsAround(key []byte) bool {
	at, w := m.floor(key)
	return w.gap.conflict && !bytes.Equal(at, key)
}

// hideRange makes the keys from begin to end unreadable and forgets what was written
// there, which the caller has taken out before.
func (m *writeMap) hideRange(begin, end []byte) {
	m.coverRange(begin, end, span{unreadable: true})
}

// coverRange makes the keys from begin to end one gap, and one with the adjacent gaps
// that are alike: how many there are is seen in the size that reading has.
func (m *writeMap) coverRange(begin, end []byte, gap span) {
	m.ensureFirst()
	at, w := m.floor(begin)
	goesOn := w.gap == gap && (len(w.ops) == 0 || !bytes.Equal(at, begin))
	m.boundAt(end)
	if goesOn {
		m.entries.RemoveRange(keys.Successor(begin), end) // a bound at begin stays
	} else {
		m.entries.RemoveRange(begin, end)
		m.ensureFirst()
		m.entries.Set(begin, writeEntry{gap: gap})
	}
	if next := m.entries.Get(end); len(next.ops) == 0 && next.gap == gap {
		m.entries.Remove(end)
	}
}

// changeSpans changes the entries from begin to end, keys and gaps.
func (m *writeMap) changeSpans(begin, end []byte, change func(*span)) {
	var keys [][]byte
	var c btree.Cursor[writeEntry]
	for ok := c.Seek(&m.entries, begin); ok && bytes.Compare(c.Key(), end) < 0; ok = c.Next() {
		keys = append(keys, c.Key())
	}
	for _, key := range keys {
		w := *m.entries.Get(key)
		change(&w.key)
		change(&w.gap)
		m.entries.Set(key, w)
	}
}

// appendMutations appends what a commit must do for the keys from begin to end to
// mutations: first what is cleared, then the operations. A nil end means no bound.
func (m *writeMap) appendMutations(mutations []mutation.Mutation, begin, end []byte) []mutation.Mutation {
	var from []byte
	flush := func(to []byte) {
		if from != nil {
			mutations = append(mutations, mutation.Mutation{Op: mutation.OpClearRange, Key: from, Value: to})
			from = nil
		}
	}
	for s := m.segments(begin); s.valid() && (end == nil || bytes.Compare(s.begin(), end) < 0); s.next() {
		switch cleared := s.operated == nil && s.span().cleared; {
		case cleared && from == nil:
			from = keys.Max(s.begin(), begin)
		case !cleared:
			flush(s.begin())
		}
	}
	if end == nil {
		end = keys.SystemEnd
	}
	flush(end)
	var c btree.Cursor[writeEntry]
	for ok := c.Seek(&m.entries, begin); ok && bytes.Compare(c.Key(), end) < 0; ok = c.Next() {
		for _, op := range c.Value().ops {
			mutations = append(mutations, mutation.Mutation{Op: op.op, Key: c.Key(), Value: op.value})
		}
	}
	return mutations
}

// conflictRanges returns the write conflict ranges, merged.
func (m *writeMap) conflictRanges() []kv.KeyRange {
	return m.conflictRangesWithin([]byte{}, keys.SystemEnd)
}

// conflictRangesWithin returns what lies between begin and end of the write conflict
// ranges, merged.
func (m *writeMap) conflictRangesWithin(begin, end []byte) []kv.KeyRange {
	var ranges []kv.KeyRange
	for s := m.segments(begin); s.valid() && bytes.Compare(s.begin(), end) < 0; s.next() {
		if !s.span().conflict {
			continue
		}
		r := kv.KeyRange{Begin: keys.Max(begin, s.begin()), End: keys.Min(s.end(keys.SystemEnd), end)}
		if n := len(ranges); n > 0 && bytes.Equal(ranges[n-1].End, r.Begin) {
			ranges[n-1].End = r.End
			continue
		}
		ranges = append(ranges, r)
	}
	return ranges
}

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

// writeEntry is one key of a transaction's writes and the gap after it. An entry
// without operations only bounds gaps: its key belongs to the gap after it.
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
