// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// snapshot is a transaction whose reads add no read conflict ranges.
type snapshot struct{ *Transaction }

// Get implements [kv.ReadTransaction].
func (t *Transaction) Get(key []byte) kv.Future[[]byte] { return t.get(key, false) }

// Get implements [kv.ReadTransaction].
func (s snapshot) Get(key []byte) kv.Future[[]byte] { return s.get(key, true) }

// GetKey implements [kv.ReadTransaction].
func (t *Transaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return t.getKey(sel, false) }

// GetKey implements [kv.ReadTransaction].
func (s snapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return s.getKey(sel, true) }

// GetRange implements [kv.ReadTransaction].
func (t *Transaction) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] { return t.getRange(req, false) })
}

// GetRange implements [kv.ReadTransaction].
func (s snapshot) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] { return s.getRange(req, true) })
}

// ReadTransact implements [kv.ReadTransactor].
func (s snapshot) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(s)
}

// Snapshot implements [kv.ReadTransaction].
func (s snapshot) Snapshot() kv.ReadTransaction { return s }

// keepReadError keeps the error of a read: a commit waits for all reads, and fails as
// the first of them that failed.
func (t *Transaction) keepReadError(err error) error {
	if t.readErr == nil {
		t.readErr = err
	}
	return err
}

// ownWrites returns the writes that a read sees, or nil.
func (t *Transaction) ownWrites(snapshot bool) *writeMap {
	if t.settings.rywDisabled || snapshot && t.settings.snapshotRYW <= 0 || t.writes.empty() {
		return nil
	}
	return &t.writes
}

// nothingBetween reports whether a range is empty whatever there is.
func nothingBetween(begin, end kv.KeySelector) bool {
	return begin.Offset >= end.Offset && bytes.Compare(begin.Key, end.Key) >= 0
}

func rangeSpecial(req kv.BatchRequest) (kv.Batch, error) {
	if req.Limit < -1 {
		return kv.Batch{}, invalidLimit(req.Limit)
	}
	if nothingBetween(plain(req.Begin), plain(req.End)) {
		return kv.Batch{}, nil
	}
	return kv.Batch{}, kv.NewError(kv.CodeSpecialKeysNoModuleFound, "from %s: this engine has no special keys", keys.Printable(req.Begin.Key))
}

// addKnown makes the keys of r known.
func (t *Transaction) addKnown(r kv.KeyRange) {
	if t.known == nil {
		t.known = &knownKeys{}
	}
	t.known.add(r)
	t.knownChanges++
}

// addKnownFrom makes known what a read has told.
func (t *Transaction) addKnownFrom(s *overlay) {
	if s.forked && s.knownChanges == t.knownChanges {
		t.known, t.knownChanges = s.known, t.knownChanges+1
		return
	}
	for _, r := range s.newlyKnown { // other reads have told something meanwhile
		t.addKnown(r)
	}
}

func (t *Transaction) getKey(sel kv.KeySelector, snapshot bool) kv.Future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkUsable(); err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	if bytes.Compare(sel.Key, t.settings.readEnd()) > 0 {
		return kv.Resolved[[]byte](nil, outside(sel.Key))
	}
	sel.Key = bytes.Clone(shorten(sel.Key))
	t.read = true
	long := isFar(sel.Offset)
	return answer(t, snapshot, long, func(s *overlay) ([]byte, error) { return s.resolveKey(sel) },
		func(s *overlay, key []byte) ([]byte, error) {
			if !snapshot {
				t.addSelectorRead(s.writes, sel, key, s.beyond)
			}
			return slices.Clip(key), nil
		})
}

// isFar reports whether a selector with this offset takes many steps.
func isFar(offset int) bool { return offset > atOnce/2 || offset < -atOnce/2 }

// addSelectorRead adds the read conflict range of a selector that became key, or went
// some keys beyond all others: all that lies between them (ReadYourWrites:
// addConflictRange of a GetKeyReq).
func (t *Transaction) addSelectorRead(writes *writeMap, sel kv.KeySelector, key []byte, beyond int) {
	base := sel.Key
	if sel.OrEqual {
		base = keys.Successor(base)
	}
	switch {
	case sel.Offset <= 0:
		t.addRangeRead(writes, key, base)
	case t.settings.rywDisabled && beyond > 0:
		t.addRangeRead(writes, base, keyBehind(systemKey(beyond)))
	default:
		t.addRangeRead(writes, base, keys.Successor(key))
	}
}

// systemKey returns the key that is so many places behind all keys of users in a
// FoundationDB cluster, whose own keys lie there. Where read-your-writes is disabled,
// a selector that runs off the end conflicts as far as that key: the recordings of
// a cluster show these two.
func systemKey(beyond int) []byte {
	switch beyond {
	case 1:
		return []byte("\xff\x02/fdbClientInfo/migrated/")
	case 2:
		return []byte("\xff\x02/serverMetadataChanges")
	}
	return keys.SystemEnd
}
