// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"

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

// settings are a transaction's options.
type settings struct {
	rywDisabled      bool
	snapshotRYW      int // reads through Snapshot see own writes while it is positive
	noWriteConflict  bool
	readSystem       bool
	writeSystem      bool
	bypassUnreadable bool
	lenientCommit    bool // use during a commit does not spoil it
	causalWriteRisky bool
	idempotent       bool
	lockAware        bool
	readOnly         bool
	reportConflicts  bool
	sizeLimit        int64

	retrySettings // not reset by OnError
}

// retrySettings are the options that stay when OnError resets the transaction.
type retrySettings struct {
	timeout    time.Duration // 0: none
	retryLimit int64         // -1: none
	maxDelay   time.Duration
}

// defaultSettings returns what transactions of a database with such options begin with.
func defaultSettings(o kv.TransactionOptions) settings {
	s := settings{snapshotRYW: 1, sizeLimit: kv.MaxTransactionSize, retrySettings: retrySettings{retryLimit: -1, maxDelay: time.Second}}
	s.apply(o)
	return s
}

// apply changes the settings to the options that are not zero. The others have nothing to
// do in one process.
func (s *settings) apply(o kv.TransactionOptions) {
	s.reportConflicts = s.reportConflicts || o.ReportConflictingKeys
	s.sizeLimit = cmp.Or(int64(o.SizeLimit), s.sizeLimit)
	s.timeout = cmp.Or(o.Timeout.Truncate(time.Millisecond), s.timeout)
	s.retryLimit = cmp.Or(int64(o.RetryLimit), s.retryLimit)
	s.maxDelay = cmp.Or(o.MaxRetryDelay.Truncate(time.Millisecond), s.maxDelay)
}

// afterRetry returns the settings of the next attempt, which begins with those
// of first.
func (s *settings) afterRetry(first settings) settings {
	first.retrySettings = s.retrySettings
	return first
}

// set changes an option that needs nothing but the settings.
func (s *settings) set(o kv.Option, arg int64) error {
	switch o {
	case kv.OptionCausalReadRisky, kv.OptionPrioritySystemImmediate, kv.OptionPriorityBatch:
		// Nothing to relax or to rank: one process, one disk, no lost replies.
	case kv.OptionCausalWriteRisky:
		s.causalWriteRisky = true
	case kv.OptionAutomaticIdempotency:
		s.idempotent = true
	case kv.OptionNextWriteNoWriteConflictRange:
		s.noWriteConflict = true
	case kv.OptionReadYourWritesDisable:
		s.rywDisabled = true
	case kv.OptionAccessSystemKeys:
		s.readSystem, s.writeSystem = true, true
	case kv.OptionReadSystemKeys:
		s.readSystem = true
	case kv.OptionSnapshotRYWEnable:
		s.snapshotRYW++
	case kv.OptionSnapshotRYWDisable:
		s.snapshotRYW--
	case kv.OptionLockAware:
		s.lockAware, s.readOnly = true, false
	case kv.OptionReadLockAware:
		s.readOnly = s.readOnly || !s.lockAware
		s.lockAware = true
	case kv.OptionUsedDuringCommitProtectionDisable:
		s.lenientCommit = true
	case kv.OptionReportConflictingKeys:
		s.reportConflicts = true
	case kv.OptionBypassUnreadable:
		s.bypassUnreadable = true
	default:
		return s.setNumber(o, arg)
	}
	return nil
}

// setNumber changes an option that takes a number.
func (s *settings) setNumber(o kv.Option, arg int64) error {
	least, most := int64(0), int64(math.MaxInt32)
	switch o {
	case kv.OptionRetryLimit:
		least = -1
	case kv.OptionSizeLimit:
		least, most = 32, kv.MaxTransactionSize
	case kv.OptionTimeout, kv.OptionMaxRetryDelay:
	default:
		return kv.NewError(kv.CodeInvalidOption, "there is no transaction option %d", int(o))
	}
	if arg < least || arg > most {
		return kv.NewError(kv.CodeInvalidOptionValue, "option %d takes %d to %d, not %d", int(o), least, most, arg)
	}
	switch o {
	case kv.OptionRetryLimit:
		s.retryLimit = arg
	case kv.OptionSizeLimit:
		s.sizeLimit = arg
	case kv.OptionTimeout:
		s.timeout = time.Duration(arg) * time.Millisecond
	case kv.OptionMaxRetryDelay:
		s.maxDelay = time.Duration(arg) * time.Millisecond
	}
	return nil
}

// readEnd and writeEnd are the first keys that cannot be read and written.
func (s *settings) readEnd() []byte  { return legalEnd(s.readSystem) }
func (s *settings) writeEnd() []byte { return legalEnd(s.writeSystem) }

var userEnd = []byte{0xff}

func legalEnd(system bool) []byte {
	if system {
		return keys.SystemEnd
	}
	return userEnd
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
