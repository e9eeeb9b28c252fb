// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
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

// spoil keeps the error of a read: a commit waits for all reads, and fails as
// the first of them that failed.
func (t *Transaction) spoil(err error) error {
	if t.spoiled == nil {
		t.spoiled = err
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

func (t *Transaction) get(key []byte, snapshot bool) kv.Future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if answered, err := t.checkGet(key); answered || err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	t.read = true
	p, err := t.look(t.ownWrites(snapshot), key)
	if err != nil {
		return kv.Resolved[[]byte](nil, t.spoil(err))
	}
	if !p.known {
		t.addKeyRead(key, snapshot)
	}
	if p.there {
		return kv.Resolved(slices.Clip(p.value), nil) // what lies behind it is shared, too
	}
	p.key = bytes.Clone(key)
	return startRead(t, true, p.fetch, func() ([]byte, error) { return slices.Clip(p.value), t.spoil(p.err) })
}

// checkGet reports whether the value of key is known to be absent before
// anything is read, or why key cannot be read.
func (t *Transaction) checkGet(key []byte) (answered bool, err error) {
	if isSpecial(key) && t.fault == nil {
		_, err := getSpecial(key)
		return true, err
	}
	if err := t.usable(); err != nil {
		return true, err
	}
	if bytes.Compare(key, t.settings.readEnd()) >= 0 && !isMetadata(key) {
		return true, outside(key)
	}
	return len(key) > longestBound(key), nil // no such key can exist
}

// getSpecial answers for FoundationDB's special keys, of which there are none.
func getSpecial(key []byte) ([]byte, error) {
	if bytes.Equal(key, keys.SystemEnd) {
		return nil, nil // the first of them, which never has a value
	}
	return nil, kv.NewError(kv.CodeSpecialKeysNoModule, "key %s: this engine has no special keys", keys.Printable(key))
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
	return kv.Batch{}, kv.NewError(kv.CodeSpecialKeysNoModule, "from %s: this engine has no special keys", keys.Printable(req.Begin.Key))
}

// addKeyRead notes a point read that came to the database, and adds its read
// conflict range.
func (t *Transaction) addKeyRead(key []byte, snapshot bool) {
	learns := !t.unmeasured && !t.settings.rywDisabled
	if snapshot && !learns {
		return
	}
	r := keys.Single(key)
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
func (t *Transaction) learn(r kv.KeyRange) {
	if t.known == nil {
		t.known = &knownKeys{}
	}
	t.known.add(r)
	t.learned++
}

// learnFrom makes known what a read has told.
func (t *Transaction) learnFrom(s *stretch) {
	if s.forked && s.since == t.learned {
		t.known, t.learned = s.known, t.learned+1
		return
	}
	for _, r := range s.learned { // other reads have told something meanwhile
		t.learn(r)
	}
}

// pointRead is a read of one key: of what own writes, and the view, had when it
// was begun.
type pointRead struct {
	value []byte
	there bool // value is the answer; else fetch gets it
	known bool // it does not come from the database, so that the read cannot conflict

	key  []byte
	view View
	over written // own operations on what the database holds
	err  error   // of fetch
}

// look begins a read of key over own writes. t.mu is held.
func (t *Transaction) look(writes *writeMap, key []byte) (p pointRead, err error) {
	if writes != nil {
		at, w := writes.floor(key)
		span, operated := w.gap, bytes.Equal(at, key) && len(w.ops) > 0
		if operated {
			span, p.over = w.key, w
		}
		switch {
		case span.unreadable && !t.settings.bypassUnreadable:
			return p, unreadable(key)
		case operated && w.known():
			return pointRead{value: w.value(nil), there: true, known: true}, nil
		case !operated && w.gap.cleared:
			return pointRead{there: true, known: true}, nil
		}
	}
	if p.view, err = t.readable(); err != nil {
		return p, err
	}
	if isMetadata(key) {
		p.value, p.there = p.view.Metadata(), true
	} else if p.value, p.there, err = p.view.GetCached(key); err != nil {
		return p, err
	}
	if p.there {
		p.value = p.over.value(p.value)
	}
	return p, nil
}

// fetch reads what was not at hand. It may wait for the disk.
func (p *pointRead) fetch(*atomic.Bool) {
	if p.value, p.err = p.view.Get(p.key); p.err == nil {
		p.value = p.over.value(p.value)
	}
}

func unreadable(key []byte) error {
	return kv.NewError(kv.CodeAccessedUnreadable, "key %s awaits its versionstamp", keys.Printable(key))
}

const (
	// atOnce is how many steps a read takes while the transaction is locked; one
	// that is known to need more gives up after atOnceIfLong.
	atOnce       = 4096
	atOnceIfLong = 64
)

// answer makes a read over own writes and what the database holds: at once if
// memory has what it needs and it is short, else by a goroutine, with the writes
// and the version of now. walk reads, the transaction being locked or not; note
// takes what was read into the transaction, which is locked. long says that many
// steps are likely. t.mu is held.
func answer[A, T any](t *Transaction, snapshot, long bool, walk func(*stretch) (A, error), note func(*stretch, A) (T, error)) kv.Future[T] {
	s := t.newStretch(snapshot)
	s.budget.Most = atOnce
	if long {
		s.budget.Most = atOnceIfLong
	}
	a, err := walkToEnd(s, walk)
	if err == rangeread.ErrNotAtHand {
		long = long || s.budget.Used >= s.budget.Most
		return answerLater(t, s, snapshot, long, walk, note)
	}
	return kv.Resolved(noteRead(t, s, a, err, note))
}

// answerLater lets a goroutine make a read that could not be made at once.
func answerLater[A, T any](t *Transaction, s *stretch, snapshot, long bool, walk func(*stretch) (A, error), note func(*stretch, A) (T, error)) kv.Future[T] {
	v, err := t.readable()
	if err != nil {
		var none T
		return kv.Resolved(none, t.spoil(err))
	}
	s.detach(v, snapshot)
	var a A
	read := func(quit *atomic.Bool) {
		s.budget.Abandon = quit
		a, err = walkToEnd(s, walk)
	}
	return startRead(t, !long, read, func() (T, error) { return noteRead(t, s, a, err, note) })
}

// walkToEnd walks and releases what the walk has held.
func walkToEnd[A any](s *stretch, walk func(*stretch) (A, error)) (A, error) {
	a, err := walk(s)
	if closed := s.close(); closed != nil && (err == nil || closed == rangeread.ErrNotAtHand) {
		err = closed
	}
	return a, err
}

// noteRead takes a read that has ended into the transaction. A read that met an
// unreadable key has told what lies before it: FoundationDB's client caches each
// reply as it arrives. t.mu is held.
func noteRead[A, T any](t *Transaction, s *stretch, a A, err error, note func(*stretch, A) (T, error)) (result T, _ error) {
	if err == nil || kv.CodeOf(err) == kv.CodeAccessedUnreadable {
		t.learnFrom(s)
	}
	if err == nil {
		result, err = note(s, a)
	}
	if err != nil {
		var none T
		return none, t.spoil(err)
	}
	return result, nil
}

func (t *Transaction) getKey(sel kv.KeySelector, snapshot bool) kv.Future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	if bytes.Compare(sel.Key, t.settings.readEnd()) > 0 {
		return kv.Resolved[[]byte](nil, outside(sel.Key))
	}
	sel.Key = bytes.Clone(shorten(sel.Key))
	t.read = true
	long := isFar(sel.Offset)
	return answer(t, snapshot, long, func(s *stretch) ([]byte, error) { return s.resolveKey(sel) },
		func(s *stretch, key []byte) ([]byte, error) {
			if !snapshot {
				t.addSelectorRead(s.writes, sel, key, s.beyond)
			}
			return slices.Clip(key), nil
		})
}

// isFar reports whether a selector with this offset takes many steps.
func isFar(offset int) bool { return offset > atOnce/2 || offset < -atOnce/2 }

// addSelectorRead adds the read conflict range of a selector that became key,
// or went some keys beyond all others: all that lies between them.
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
	return keys.SystemEnd
}
