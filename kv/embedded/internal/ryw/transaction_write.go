// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// Set implements [kv.Transaction].
func (t *Transaction) Set(key, value []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case isMetadata(key):
		_ = t.keepFault(kv.NewError(kv.CodeClientInvalidOperation, "\\xff/metadataVersion takes a versionstamp only"))
	case t.rejectSpecial(key):
		return
	}
	conflict, ok := t.beginWrite(key)
	if !ok {
		return
	}
	t.size += int64(len(key)+len(value)) + mutationCost + keyConflictSize(key, conflict)
	if !t.checkSizes(key, value) {
		return
	}
	t.addOperation(keys.Own(key), operation{op: mutation.OpSet, value: keys.Own(value)}, conflict)
}

func keyConflictSize(key []byte, conflict bool) int64 {
	if !conflict {
		return 0
	}
	return rangeCost + 2*int64(len(key)) + 1
}

// beginWrite reports whether a write to key may go on, and whether it adds a
// write conflict range. t.mu is held.
func (t *Transaction) beginWrite(key []byte) (conflict, ok bool) {
	if t.fault != nil {
		return false, false
	}
	conflict = t.takeConflict()
	if t.started {
		_ = t.keepFault(t.failMisuse())
		return false, false
	}
	if bytes.Compare(key, t.settings.writeEnd()) >= 0 && !isMetadata(key) {
		_ = t.keepFault(outside(key))
		return false, false
	}
	return conflict, true
}

// rejectSpecial reports whether a key that is set or cleared is one of FoundationDB's
// rejectSpecial keys, which is a fault before all others. Atomic operations know no
// rejectSpecial keys.
func (t *Transaction) rejectSpecial(key []byte) bool {
	if !isSpecial(key) {
		return false
	}
	_ = t.keepFault(kv.NewError(kv.CodeSpecialKeysWriteDisabled, "key %s", keys.Printable(key)))
	return true
}

func isSpecial(key []byte) bool {
	return bytes.HasPrefix(key, keys.SystemEnd) && bytes.Compare(key, specialEnd) < 0
}

// takeConflict reports whether the next write adds a write conflict range.
func (t *Transaction) takeConflict() bool {
	quiet := t.settings.noWriteConflict
	t.settings.noWriteConflict = false
	t.hasQuietWrite = t.hasQuietWrite || quiet
	return !quiet
}

// specialEnd is the end of FoundationDB's special keys, which begin at keys.SystemEnd.
var specialEnd = []byte{0xff, 0xff, 0xff}

// checkSizes keeps the fault of a key or value that is too long.
func (t *Transaction) checkSizes(key, value []byte) bool {
	switch {
	case len(key) > longestKey(key):
		_ = t.keepFault(kv.NewError(kv.CodeKeyTooLarge, "key %s has %d bytes; at most %d are possible", keys.Printable(key), len(key), longestKey(key)))
	case len(value) > kv.MaxValueSize:
		_ = t.keepFault(kv.NewError(kv.CodeValueTooLarge, "the value of key %s has %d bytes; at most %d are possible", keys.Printable(key), len(value), kv.MaxValueSize))
	default:
		return true
	}
	return false
}

// addOperation adds an operation on a key; it keeps both.
func (t *Transaction) addOperation(key []byte, op operation, conflict bool) {
	if !t.settings.rywDisabled {
		t.writes.addOperation(key, op, conflict)
		t.attempt.fireOwn(kv.KeyRange{Begin: key, End: keys.OwnedSuccessor(key)}, op)
		return
	}
	p := t.ownDirect()
	p.sent = append(p.sent, mutation.Mutation{Op: op.op, Key: key, Value: op.value})
	if conflict {
		p.sentRanges = append(p.sentRanges, kv.KeyRange{Begin: key, End: keys.OwnedSuccessor(key)})
	}
}

// Clear implements [kv.Transaction].
func (t *Transaction) Clear(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.started && t.rejectSpecial(key) {
		return
	}
	conflict, ok := t.beginWrite(key)
	if !ok || len(key) > longestBound(key) {
		return
	}
	r := keys.Single(key)
	if !t.settings.rywDisabled {
		size := int64(2*len(key) + 1)
		t.size += size + rangeCost
		if conflict {
			t.size += size + rangeCost
		}
	}
	t.addClear(r, conflict)
}

// ClearRange implements [kv.Transaction].
func (t *Transaction) ClearRange(r kv.KeyRange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault != nil {
		return
	}
	if bytes.Compare(r.Begin, r.End) > 0 {
		_ = t.keepFault(inverted(r))
		return
	}
	conflict := t.takeConflict()
	if t.started {
		_ = t.keepFault(t.failMisuse())
		return
	}
	if isSpecial(r.End) && t.rejectSpecial(r.Begin) {
		return
	}
	if err := inLegalRange(r, t.settings.writeEnd()); err != nil {
		_ = t.keepFault(err)
		return
	}
	size := int64(len(r.Begin) + len(r.End))
	t.size += size + mutationCost
	if conflict {
		t.size += size + rangeCost
	}
	r = kv.KeyRange{Begin: keys.Own(shorten(r.Begin)), End: keys.Own(shorten(r.End))}
	if bytes.Compare(r.Begin, r.End) < 0 {
		t.addClear(r, conflict)
	}
}

func (t *Transaction) addClear(r kv.KeyRange, conflict bool) {
	if !t.settings.rywDisabled {
		t.writes.addClear(r.Begin, r.End, conflict)
		t.attempt.fireOwn(r, operation{op: mutation.OpSet})
		return
	}
	p := t.ownDirect()
	p.sent = append(p.sent, mutation.Mutation{Op: mutation.OpClearRange, Key: r.Begin, Value: r.End})
	if conflict {
		p.sentRanges = append(p.sentRanges, r)
	}
}

// Atomic implements [kv.Transaction].
func (t *Transaction) Atomic(op kv.MutationType, key, operand []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	conflict, ok := t.beginWrite(key)
	if !ok {
		return
	}
	if err := checkAtomic(op, key, operand); err != nil {
		_ = t.keepFault(err)
		return
	}
	if !t.checkSizes(key, operand) {
		return
	}
	key, operand = keys.Own(key), keys.Own(operand)
	if op == kv.SetVersionstampedKey {
		conflict = false
		if key, ok = t.hideStampedKeys(key); !ok {
			return
		}
	}
	t.size += int64(len(key)+len(operand)) + mutationCost + keyConflictSize(key, conflict)
	t.addOperation(key, operation{op: op, value: operand}, conflict)
}

func checkAtomic(op kv.MutationType, key, operand []byte) error {
	stampsMetadata := op == kv.SetVersionstampedValue && bytes.Equal(operand, make([]byte, 14))
	switch {
	case isMetadata(key) && !stampsMetadata:
		return kv.NewError(kv.CodeClientInvalidOperation, "\\xff/metadataVersion takes a versionstamp of 14 zero bytes only")
	case !mutation.IsAtomic(op):
		return kv.NewError(kv.CodeInvalidMutationType, "there is no atomic operation %d", int(op))
	}
	if op != kv.SetVersionstampedValue {
		return nil
	}
	if _, ok := mutation.StampOffset(operand); !ok {
		return kv.NewError(kv.CodeClientInvalidOperation, "the operand has no room for a versionstamp where its last four bytes say")
	}
	return nil
}

// hideStampedKeys makes the keys that a versionstamped key may become unreadable,
// sends what was written to them before, and returns the key with the least
// versionstamp that it can get.
func (t *Transaction) hideStampedKeys(key []byte) ([]byte, bool) {
	r, ok := mutation.StampRange(key, t.version, t.settings.readEnd())
	if !ok {
		_ = t.keepFault(kv.NewError(kv.CodeClientInvalidOperation, "the key has no room for a versionstamp where its last four bytes say"))
		return nil, false
	}
	p := t.ownDirect()
	p.stampKeys = append(p.stampKeys, key)
	if t.settings.rywDisabled {
		return key, true
	}
	p.sent = t.writes.appendMutations(p.sent, r.Begin, r.End)
	p.sentRanges = append(p.sentRanges, t.writes.conflictRangesWithin(r.Begin, r.End)...)
	t.writes.hideRange(r.Begin, r.End)
	at, _ := mutation.StampOffset(key)
	least := slices.Clone(key)
	copy(least[at:], mutation.Versionstamp(t.version, 0))
	return keys.Own(least), true
}

// longestKey returns how long a key like this one may be to be written.
func longestKey(key []byte) int {
	if len(key) > 0 && key[0] == 0xff {
		return 3 * kv.MaxKeySize // FoundationDB's SYSTEM_KEY_SIZE_LIMIT
	}
	return kv.MaxKeySize
}

// longestBound returns how long a key like this one is looked at in reads,
// clears and conflict ranges: FoundationDB 7.3 leaves room for the prefix of a
// tenant there.
func longestBound(key []byte) int { return longestKey(key) + 8 }

// shorten returns a key that divides all keys that can exist as key does.
func shorten(key []byte) []byte {
	if limit := longestBound(key); len(key) > limit {
		return key[:limit+1]
	}
	return key
}
