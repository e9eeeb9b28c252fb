// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// snapshot is a transaction whose reads add no read conflict ranges.
type snapshot struct{ *transaction }

// Get implements [kv.ReadTransaction].
func (t *transaction) Get(key []byte) kv.Future[[]byte] { return kv.Resolved(t.get(key, false)) }

// Get implements [kv.ReadTransaction].
func (s snapshot) Get(key []byte) kv.Future[[]byte] { return kv.Resolved(s.get(key, true)) }

// GetKey implements [kv.ReadTransaction].
func (t *transaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return kv.Resolved(t.getKey(sel, false))
}

// GetKey implements [kv.ReadTransaction].
func (s snapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return kv.Resolved(s.getKey(sel, true))
}

// GetRange implements [kv.ReadTransaction].
func (t *transaction) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		return kv.Resolved(t.getRange(req, false))
	})
}

// GetRange implements [kv.ReadTransaction].
func (s snapshot) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		return kv.Resolved(s.getRange(req, true))
	})
}

// ReadTransact implements [kv.ReadTransactor].
func (s snapshot) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(s)
}

// Snapshot implements [kv.ReadTransaction].
func (s snapshot) Snapshot() kv.ReadTransaction { return s }

// spoil keeps the error of a read: a commit waits for all reads, and fails as
// the first of them that failed.
func (t *transaction) spoil(err error) error {
	if t.spoiled == nil {
		t.spoiled = err
	}
	return err
}

// ownWrites returns the writes that a read sees, or nil.
func (t *transaction) ownWrites(snapshot bool) *writeMap {
	if t.settings.rywDisabled || snapshot && t.settings.snapshotRYW <= 0 || t.writes.empty() {
		return nil
	}
	return &t.writes
}

func (t *transaction) get(key []byte, snapshot bool) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isSpecial(key) && t.fault == nil {
		return getSpecial(key)
	}
	if err := t.usable(); err != nil {
		return nil, err
	}
	if bytes.Compare(key, t.settings.readEnd()) >= 0 && !isMetadata(key) {
		return nil, outside(key)
	}
	if len(key) > longestBound(key) {
		return nil, nil // no such key can exist
	}
	t.read = true
	value, known, err := t.getOver(t.ownWrites(snapshot), key)
	if err == nil && !known {
		t.addKeyRead(key, snapshot)
	}
	return slices.Clip(value), t.spoil(err) // what lies behind it is shared, too
}

// getSpecial answers for FoundationDB's special keys, of which there are none.
func getSpecial(key []byte) ([]byte, error) {
	if bytes.Equal(key, systemEnd) {
		return nil, nil // the first of them, which never has a value
	}
	return nil, kv.NewError(kv.CodeSpecialKeysNoModule, "key %s: this engine has no special keys", printable(key))
}

// nothingBetween reports whether a range is empty whatever there is.
func nothingBetween(begin, end kv.KeySelector) bool {
	return begin.Offset >= end.Offset && bytes.Compare(begin.Key, end.Key) >= 0
}

func rangeSpecial(req kv.BatchRequest) (kv.Batch, error) {
	if nothingBetween(plain(req.Begin), plain(req.End)) {
		return kv.Batch{}, nil
	}
	return kv.Batch{}, kv.NewError(kv.CodeSpecialKeysNoModule, "from %s: this engine has no special keys", printable(req.Begin.Key))
}

// addKeyRead notes a point read that came to the database, and adds its read
// conflict range.
func (t *transaction) addKeyRead(key []byte, snapshot bool) {
	learns := !t.unmeasured && !t.settings.rywDisabled
	if snapshot && !learns {
		return
	}
	r := singleKey(key)
	if learns {
		t.learn(r)
	}
	if snapshot {
		return
	}
	if !t.settings.rywDisabled {
		t.size += int64(2*len(key)+1) + rangeCost
	}
	t.reads = append(t.reads, r)
}

// learn makes the keys of r known.
func (t *transaction) learn(r kv.KeyRange) {
	if t.known == nil {
		t.known = &knownKeys{}
	}
	t.known.add(r)
}

// getOver reads key over own writes. known reports that the value does not come
// from the database, so that the read cannot conflict.
func (t *transaction) getOver(writes *writeMap, key []byte) (value []byte, known bool, err error) {
	if writes == nil {
		value, err = t.getStored(key)
		return value, false, err
	}
	at, w := writes.floor(key)
	if !bytes.Equal(at, key) || len(w.ops) == 0 {
		switch {
		case w.gap.unreadable && !t.settings.bypassUnreadable:
			return nil, false, unreadable(key)
		case w.gap.cleared:
			return nil, true, nil
		}
		value, err = t.getStored(key)
		return value, false, err
	}
	if w.key.unreadable && !t.settings.bypassUnreadable {
		return nil, false, unreadable(key)
	}
	if !w.dependent() {
		return w.value(nil), true, nil
	}
	if w.gap.cleared {
		return w.value(nil), true, nil
	}
	below, err := t.getStored(key)
	if err != nil {
		return nil, false, err
	}
	return w.value(below), false, nil
}

// getStored returns what the database holds.
func (t *transaction) getStored(key []byte) ([]byte, error) {
	v, err := t.readable()
	if err != nil {
		return nil, err
	}
	if isMetadata(key) {
		return v.metadata, nil
	}
	return v.get(key)
}

func unreadable(key []byte) error {
	return kv.NewError(kv.CodeAccessedUnreadable, "key %s awaits its versionstamp", printable(key))
}

func (t *transaction) getKey(sel kv.KeySelector, snapshot bool) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return nil, err
	}
	limit := t.settings.readEnd()
	if bytes.Compare(sel.Key, limit) > 0 {
		return nil, outside(sel.Key)
	}
	sel.Key = shorten(sel.Key)
	t.read = true
	s := t.newStretch(snapshot)
	defer s.close()
	key, err := s.resolveKey(sel)
	if err == nil {
		err = s.close()
	}
	if err != nil {
		return nil, t.spoil(err)
	}
	if !snapshot {
		t.addSelectorRead(sel, key, s.beyond)
	}
	return slices.Clip(key), nil
}

// addSelectorRead adds the read conflict range of a selector that became key,
// or went some keys beyond all others: all that lies between them.
func (t *transaction) addSelectorRead(sel kv.KeySelector, key []byte, beyond int) {
	base := sel.Key
	if sel.OrEqual {
		base = successor(base)
	}
	switch {
	case sel.Offset <= 0:
		t.addRangeRead(key, base)
	case t.settings.rywDisabled && beyond > 0:
		t.addRangeRead(base, successor(systemKey(beyond)))
	default:
		t.addRangeRead(base, successor(key))
	}
}

// systemKey returns the key that is so many places behind all keys of users in
// a FoundationDB, whose own keys lie there. It shows where read-your-writes is
// disabled: a selector that runs off the end then conflicts as far as that key.
func systemKey(beyond int) []byte {
	switch beyond {
	case 1:
		return []byte("\xff\x02/fdbClientInfo/migrated/")
	case 2:
		return []byte("\xff\x02/serverMetadataChanges")
	}
	return systemEnd
}

func (t *transaction) getRange(req kv.BatchRequest, snapshot bool) (kv.Batch, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if req.Mode == kv.ModeExact && (req.Limit == 0 || req.Limit == -1) {
		return kv.Batch{}, kv.NewError(kv.CodeExactModeWithoutLimits, "ModeExact needs a Limit")
	}
	if isSpecial(req.Begin.Key) && isSpecial(req.End.Key) && t.fault == nil {
		return rangeSpecial(req)
	}
	if err := t.usable(); err != nil {
		return kv.Batch{}, err
	}
	end := t.settings.readEnd()
	for _, key := range [][]byte{req.Begin.Key, req.End.Key} {
		if bytes.Compare(key, end) > 0 {
			return kv.Batch{}, outside(key)
		}
	}
	if req.Limit == -1 {
		req.Limit = 0 // FoundationDB's ROW_LIMIT_UNLIMITED
	}
	if req.Limit < 0 {
		return kv.Batch{}, kv.NewError(kv.CodeRangeLimitsInvalid, "the limit is %d", req.Limit)
	}
	req.Begin.Key, req.End.Key = shorten(req.Begin.Key), shorten(req.End.Key)
	req.Begin, req.End = plain(req.Begin), plain(req.End)
	if nothingBetween(req.Begin, req.End) {
		return kv.Batch{}, nil
	}
	t.read = true
	s := t.newStretch(snapshot)
	defer s.close()
	if t.settings.rywDisabled && req.Reverse && req.End.Offset > 1 {
		if err := t.settleEnd(s, &req, snapshot); err != nil {
			return kv.Batch{}, t.spoil(err)
		}
		if nothingBetween(req.Begin, req.End) {
			return kv.Batch{}, nil
		}
	}
	got, err := s.readRange(req)
	if err == nil {
		err = s.close()
	}
	if err != nil {
		return kv.Batch{}, t.spoil(err)
	}
	if !snapshot {
		if err := t.addRangeResult(req, got); err != nil {
			return kv.Batch{}, t.spoil(err)
		}
	}
	return kv.Batch{KVs: got.kvs, More: got.more}, nil
}

// settleEnd reads the end of a backward range as a key of its own, as
// FoundationDB's client does where read-your-writes is disabled.
func (t *transaction) settleEnd(s *stretch, req *kv.BatchRequest, snapshot bool) error {
	key, err := s.resolveKey(req.End)
	if err != nil {
		return err
	}
	if !snapshot {
		t.addSelectorRead(req.End, key, s.beyond)
	}
	req.End = kv.FirstGreaterOrEqual(key)
	return nil
}

// plain returns the selector without OrEqual.
func plain(s kv.KeySelector) kv.KeySelector {
	if s.OrEqual {
		s.Key, s.OrEqual = successor(s.Key), false
	}
	return s
}
