// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// What a conflict range and a mutation count against a transaction's size
// in addition to their bytes: the sizes of FoundationDB's structures, which its
// recorded answers show.
const (
	rangeCost    = 24
	mutationCost = 44
)

// addRangeRead adds the read conflict ranges of what a read saw of [begin, end): the
// parts that do not come from writes, which are the own writes that the read has
// seen (ReadYourWrites: updateConflictMap). Writes made while the read was under way
// hide nothing from it.
func (t *Transaction) addRangeRead(writes *writeMap, begin, end []byte) {
	if bytes.Compare(begin, end) >= 0 {
		return
	}
	r := keys.CloneRange(kv.KeyRange{Begin: begin, End: end})
	if t.settings.rywDisabled {
		p := t.ownDirect()
		p.lateReads = append(p.lateReads, r)
		return
	}
	begin, end = r.Begin, r.End
	if writes == nil || writes.empty() || writes.missesRange(begin, end) {
		t.addPart(begin, end, begin, end)
		return
	}
	for s := writes.segments(begin); s.valid() && bytes.Compare(s.begin(), end) < 0; s.next() {
		if s.operated != nil && !s.operated.hidesStored() || s.operated == nil && !s.gap.cleared {
			t.addPart(keys.Max(begin, s.begin()), keys.Min(end, s.end(keys.SystemEnd)), begin, end)
		}
	}
}

// addPart adds a part of a read range and keeps its bounds; the size counts the
// whole each time.
func (t *Transaction) addPart(from, to, begin, end []byte) {
	if bytes.Compare(from, to) >= 0 {
		return
	}
	t.size += int64(len(begin)+len(end)) + rangeCost
	if n := len(t.reads); n == cap(t.reads) && n > 0 {
		t.reads = slices.Grow(t.reads, n) // append makes less room for many
	}
	t.reads = append(t.reads, kv.KeyRange{Begin: from, End: to})
}

// addRangeResult adds the read conflict range of a range read, as far as a write could
// have changed its answer (ReadYourWrites: addConflictRange of a GetRangeReq). A read
// between selectors past all keys may end before it begins once it met the end of
// all keys: FoundationDB's client fails then, with inverted_range.
func (t *Transaction) addRangeResult(writes *writeMap, req kv.BatchRequest, got rangeResult) error {
	begin, end := req.Begin.Key, req.End.Key
	first, last := []byte(nil), []byte(nil) // of the pairs, in key order
	if n := len(got.kvs); n > 0 {
		first, last = got.kvs[0].Key, got.kvs[n-1].Key
		if req.Reverse {
			first, last = last, first
		}
	}
	from, to := begin, end
	if bytes.Compare(begin, end) >= 0 {
		from, to = end, begin
	} else if got.more && !req.Reverse && req.End.Offset > 0 {
		to = begin
	} else if got.more && req.Reverse && req.Begin.Offset <= 1 {
		from = end
	}
	if got.toBegin && req.Begin.Offset <= 0 {
		from = []byte{}
	}
	if got.toEnd && req.End.Offset > 0 {
		to = t.readAll(to)
	}
	if len(got.kvs) > 0 {
		if req.Reverse || req.Begin.Offset <= 0 {
			from = keys.Min(from, first)
		}
		if (!req.Reverse || req.End.Offset > 0) && bytes.Compare(to, last) <= 0 {
			to = keys.Successor(last)
		}
	}
	if bytes.Compare(from, to) > 0 && !t.settings.rywDisabled {
		return inverted(kv.KeyRange{Begin: from, End: to})
	}
	t.addRangeRead(writes, from, to)
	return nil
}

// readAll is how far a range read conflicts that met the end of all keys. Where
// read-your-writes is disabled that can be beyond it.
func (t *Transaction) readAll(to []byte) []byte {
	if end := t.settings.readEnd(); !t.settings.rywDisabled || bytes.Compare(to, end) < 0 {
		return end
	}
	return to
}

// AddReadConflictKey implements [kv.Transaction].
func (t *Transaction) AddReadConflictKey(key []byte) error {
	return t.AddReadConflictRange(keys.Single(key))
}

// AddReadConflictRange implements [kv.Transaction].
func (t *Transaction) AddReadConflictRange(r kv.KeyRange) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok, err := t.conflictRange(r, t.settings.readEnd())
	if !ok || err != nil {
		return err
	}
	if t.settings.rywDisabled {
		r = keys.CloneRange(r)
		t.addPart(r.Begin, r.End, r.Begin, r.End)
	} else {
		t.addRangeRead(&t.writes, r.Begin, r.End)
	}
	return nil
}

// AddWriteConflictKey implements [kv.Transaction].
func (t *Transaction) AddWriteConflictKey(key []byte) error {
	return t.AddWriteConflictRange(keys.Single(key))
}

// AddWriteConflictRange implements [kv.Transaction].
func (t *Transaction) AddWriteConflictRange(r kv.KeyRange) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok, err := t.conflictRange(r, t.settings.writeEnd())
	if !ok || err != nil {
		return err
	}
	t.size += int64(len(r.Begin)+len(r.End)) + rangeCost
	r = kv.KeyRange{Begin: keys.Own(r.Begin), End: keys.Own(r.End)}
	if t.settings.rywDisabled {
		p := t.ownDirect()
		p.sentRanges = append(p.sentRanges, r)
		return nil
	}
	t.writes.addConflict(r.Begin, r.End)
	return nil
}

// conflictRange checks a range that the caller adds, and reports whether there
// is anything to add. Like other faults of writes, all but the plainest are
// told by the next call. t.mu is held.
func (t *Transaction) conflictRange(r kv.KeyRange, end []byte) (kv.KeyRange, bool, error) {
	switch {
	case bytes.Compare(r.Begin, r.End) > 0:
		return r, false, inverted(r)
	case t.fault != nil:
		return r, false, nil
	case t.started:
		return r, false, t.keepFault(t.failMisuse())
	}
	metadata := len(r.End) == len(kv.MetadataVersionKey)+1 && isMetadata(r.Begin)
	if err := inLegalRange(r, end); err != nil && !metadata {
		return r, false, t.keepFault(err)
	}
	r = kv.KeyRange{Begin: shorten(r.Begin), End: shorten(r.End)}
	return r, bytes.Compare(r.Begin, r.End) < 0, nil
}

func inverted(r kv.KeyRange) error {
	return kv.NewError(kv.CodeInvertedRange, "from %s to %s", keys.Printable(r.Begin), keys.Printable(r.End))
}

// ConflictRanges implements [kv.Transaction].
func (t *Transaction) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.awaitReads(ctx); err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(t.fault, t.deadErr, t.readErr); err != nil {
		return nil, nil, err
	}
	write = t.writes.conflictRanges()
	stamp := t.stampTold()
	if t.settings.rywDisabled { // else the client has forgotten what it sent early
		write = append(write, t.direct.sentRanges...)
	}
	for _, key := range t.direct.stampKeys {
		if r, ok := t.stampConflict(key, stamp); ok {
			write = append(write, r)
		}
	}
	return keys.Merge(slices.Concat(t.reads, t.direct.lateReads)), keys.Merge(write), nil
}

// ConflictingKeys implements [kv.Transaction].
func (t *Transaction) ConflictingKeys(context.Context) ([]kv.KeyRange, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastConflicts(), nil
}

// stampConflict is the write conflict range of a versionstamped key: of the key
// that it becomes with stamp, or of all that it can become if that is nil.
func (t *Transaction) stampConflict(key, stamp []byte) (kv.KeyRange, bool) {
	if stamp == nil {
		return mutation.StampRange(key, t.version, t.settings.readEnd())
	}
	at, ok := mutation.StampOffset(key)
	key = slices.Clone(key[:len(key)-4])
	copy(key[at:], stamp)
	return keys.Single(key), ok
}

// stampTold returns the versionstamp that the conflict ranges are told with, or
// nil: that of the first attempt, for FoundationDB's client asks for it once and
// not again after OnError.
func (t *Transaction) stampTold() []byte {
	if t.retried {
		return t.firstStamp
	}
	if t.attempt == nil {
		return nil
	}
	index := t.attempt.index.Load()
	if index == 0 {
		return nil
	}
	return mutation.Versionstamp(t.attempt.version.Load(), uint16(index-1))
}

// knownKeys are the keys of which a transaction's reads have told what the
// database holds, absent ones included. FoundationDB's client caches those, and
// it shows: a batch that is limited in bytes ends where the next key would have
// to be fetched, so that the number of batches, and with it the size of the
// transaction, depends on what was read before. This engine keeps no values, it
// only remembers which keys the client would know. A nil set is empty.
type knownKeys struct {
	ranges        keys.Set
	pendingRanges []kv.KeyRange // not taken into ranges yet
	looks         int           // how often late was looked through one by one
	room          [1]kv.KeyRange
}

// fewKnown is how many ranges are looked through one by one each time, and
// firstLooks how often more are, before they are brought in order.
const fewKnown, firstLooks = 8, 4

// fork returns a copy that can be changed on its own.
func (k *knownKeys) fork() *knownKeys {
	if k.empty() {
		return &knownKeys{}
	}
	k.applyLate()
	return &knownKeys{ranges: k.ranges.Snapshot()}
}

func (k *knownKeys) empty() bool { return k == nil || len(k.pendingRanges) == 0 && k.ranges.IsEmpty() }

// add makes the keys of r known. It keeps the range.
func (k *knownKeys) add(r kv.KeyRange) {
	if bytes.Compare(r.Begin, r.End) >= 0 {
		return
	}
	if n := len(k.pendingRanges); n > 0 {
		switch last := &k.pendingRanges[n-1]; {
		case bytes.Equal(last.End, r.Begin): // the next batch of a range
			last.End = r.End
			return
		case bytes.Equal(last.Begin, r.End):
			last.Begin = r.Begin
			return
		}
	}
	if k.pendingRanges == nil {
		k.pendingRanges = k.room[:0]
	}
	k.pendingRanges = append(k.pendingRanges, r)
}

// overlaps reports whether any key of r is known.
func (k *knownKeys) overlaps(r kv.KeyRange) bool {
	if k.empty() {
		return false
	}
	if k.ranges.IsEmpty() && (len(k.pendingRanges) <= fewKnown || k.looks < firstLooks) {
		k.looks++
		for _, l := range k.pendingRanges {
			if bytes.Compare(l.Begin, r.End) < 0 && bytes.Compare(r.Begin, l.End) < 0 {
				return true
			}
		}
		return false
	}
	around, known := k.around(r.Begin, false)
	return known || bytes.Compare(around.End, r.End) < 0
}

// around returns the longest range that holds key, or with below what lies just
// below it, of keys that are all known or all unknown.
func (k *knownKeys) around(key []byte, below bool) (r kv.KeyRange, known bool) {
	if k.empty() {
		return kv.KeyRange{Begin: []byte{}, End: keys.SystemEnd}, false
	}
	k.applyLate()
	return k.ranges.Around(key, below)
}

// applyLate takes late ranges into ranges.
func (k *knownKeys) applyLate() {
	if k.ranges.IsEmpty() && len(k.pendingRanges) > 1 {
		k.ranges.Build(k.pendingRanges)
	} else {
		for _, r := range k.pendingRanges {
			k.ranges.Join(r)
		}
	}
	k.pendingRanges = k.pendingRanges[:0]
}
