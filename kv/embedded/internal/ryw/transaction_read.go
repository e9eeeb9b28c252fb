// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// snapshot is a transaction with reads that add no read conflict ranges.
type snapshot struct{ *Transaction }

// Get implements [kv.ReadTransaction].
func (t *Transaction) Get(key []byte) kv.Future[[]byte] { return t.get(key, false) }

// Get implements [kv.ReadTransaction].
func (s snapshot) Get(key []byte) kv.Future[[]byte] { return s.get(key, true) }

// AppendGets is called by [kv.AppendGets].
func (s snapshot) AppendGets(futures []kv.Future[[]byte], keys [][]byte) []kv.Future[[]byte] {
	return s.appendGets(futures, keys, true)
}

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

// SetOptions implements [kv.ReadTransaction].
func (s snapshot) SetOptions(o kv.TransactionOptions) error { return s.Transaction.SetOptions(o) }

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
	for _, r := range s.newlyKnown { // other reads may have told something since
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
		t.addRangeRead(writes, base, keyAfter(systemKey(beyond)))
	default:
		t.addRangeRead(writes, base, keys.Successor(key))
	}
}

// systemKey returns the key that is so many places after all keys of users in a
// FoundationDB cluster. The cluster's own keys lie there. Where read-your-writes is disabled,
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

// get reads one key. It holds the lock to look at the own writes, to fix the view and
// to add the conflict range, and not while it reads the view: the view never
// changes, and reads of other keys need not wait.
func (t *Transaction) get(key []byte, snapshot bool) kv.Future[[]byte] {
	p, err := t.startGet(key, snapshot)
	if err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	if p.answered || p.readCached(key) {
		return kv.Resolved(slices.Clip(p.value), nil) // what lies after it is shared, too
	}
	return t.finishGet(p, key)
}

// startGet does what a Get does before it reads the view.
func (t *Transaction) startGet(key []byte, snapshot bool) (p pointRead, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.beginGet(key, snapshot, nil)
}

// beginGet is startGet with t.mu held. A view that the same locking of t.mu has fixed
// before need not be looked at again.
func (t *Transaction) beginGet(key []byte, snapshot bool, fixed View) (p pointRead, err error) {
	if p.answered, err = t.checkGet(key); p.answered || err != nil {
		return p, err
	}
	t.read = true
	if p, err = t.startPointRead(t.ownWrites(snapshot), key, fixed); err != nil {
		return p, t.keepReadError(err)
	}
	if !p.known {
		p.cost = t.addKeyRead(key, snapshot)
	}
	p.attempt = t.attempts
	return p, nil
}

// finishGet goes on with a Get that memory has not answered: a goroutine reads the
// disk. If the commit began, or the transaction was reset or cancelled, since
// startGet, the Get counts as made after that.
func (t *Transaction) finishGet(p pointRead, key []byte) kv.Future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkGoesOn(&p); err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	return startRead(t, newPendingGet(t, &p, key))
}

// checkGoesOn returns why a read that memory has not answered does not go on. t.mu is
// held.
func (t *Transaction) checkGoesOn(p *pointRead) error {
	err := t.checkUsable()
	if err == nil && p.attempt != t.attempts {
		err = errCancelled
	}
	if err == nil && p.err != nil {
		t.size -= p.cost // FoundationDB's client counts the range of a read once it has succeeded
		err = t.keepReadError(p.err)
	}
	return err
}

// checkGet reports whether the value of key is known to be absent before
// anything is read, or why key cannot be read.
func (t *Transaction) checkGet(key []byte) (answered bool, err error) {
	if isSpecial(key) && t.fault == nil {
		_, err := getSpecial(key)
		return true, err
	}
	if err := t.checkUsable(); err != nil {
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
	return nil, kv.NewError(kv.CodeSpecialKeysNoModuleFound, "key %s: this engine has no special keys", keys.Printable(key))
}

// addKeyRead notes a point read that comes to the database, and adds its read
// conflict range. It returns what that adds to the size.
func (t *Transaction) addKeyRead(key []byte, snapshot bool) (cost int64) {
	learns := !t.unmeasured && !t.settings.rywDisabled
	if snapshot && !learns {
		return 0
	}
	r := keys.Single(key)
	if learns {
		t.addKnown(r)
	}
	if snapshot {
		return 0
	}
	if !t.settings.rywDisabled {
		cost = int64(2*len(key)+1) + rangeCost
	}
	t.size += cost
	t.reads = append(t.reads, r)
	return cost
}

// pointRead is a read of one key, over the own writes and of the view that the
// transaction had when the read began.
type pointRead struct {
	value    []byte
	answered bool // value is the result
	known    bool // it does not come from the database, so that the read cannot conflict

	key     []byte
	view    View
	ticket  reads.Ticket // of a key that memory does not have
	over    writeEntry   // own operations on what the database holds
	err     error        // of the view
	cost    int64        // that the read has added to the size
	attempt int          // Transaction.attempts when it began
}

// startPointRead looks for key among the own writes and, if they do not tell its
// value, fixes the view to read, unless one is fixed. t.mu is held.
func (t *Transaction) startPointRead(writes *writeMap, key []byte, fixed View) (p pointRead, err error) {
	if writes != nil {
		at, w := writes.floor(key)
		span, operated := w.gap, bytes.Equal(at, key) && len(w.ops) > 0
		if operated {
			span, p.over = w.key, w
		}
		switch {
		case span.unreadable && !t.settings.bypassUnreadable:
			return p, unreadable(key)
		case operated && w.hidesStored():
			return pointRead{value: w.applyTo(nil), answered: true, known: true}, nil
		case !operated && w.gap.cleared:
			return pointRead{answered: true, known: true}, nil
		}
	}
	if p.view = fixed; fixed == nil {
		p.view, err = t.currentView()
	}
	return p, err
}

// readCached reads the view, and reports whether memory had the result. It does not
// wait.
func (p *pointRead) readCached(key []byte) bool {
	if isMetadata(key) {
		p.value, p.answered = p.view.Metadata(), true
	} else {
		p.value, p.answered, p.ticket, p.err = p.view.LookUp(key)
	}
	if p.answered = p.answered && p.err == nil; p.answered {
		p.value = p.over.applyTo(p.value)
	}
	return p.answered
}

// readStored reads what memory did not have. It may wait for the disk.
func (p *pointRead) readStored() {
	if p.value, p.err = p.view.Fetch(p.ticket, p.key); p.err == nil {
		p.value = p.over.applyTo(p.value)
	}
}

func unreadable(key []byte) error {
	return kv.NewError(kv.CodeAccessedUnreadable, "key %s awaits its versionstamp", keys.Printable(key))
}

// currentView returns the view that the transaction reads, fixing it if this is
// the first read, unless it has become too old. t.mu is held.
func (t *Transaction) currentView() (View, error) {
	switch {
	case t.viewErr != nil:
		return nil, t.viewErr
	case t.view == nil:
		t.chooseNewest()
		return t.view, t.viewErr
	}
	if err := t.engine.CheckAge(t.version); err != nil {
		releaseView(&t.view)
		t.viewErr = err
		return nil, err
	}
	return t.view, nil
}

// chooseNewest fixes the read version to that of the newest view, which cannot be read if it is
// older than what the transaction must see.
func (t *Transaction) chooseNewest() {
	t.view = t.engine.Newest()
	t.version = t.view.Version()
	if t.viewErr = (kv.TransactionOptions{AtLeast: t.settings.atLeast}).CheckVersion(t.version); t.viewErr != nil {
		releaseView(&t.view)
	}
}

// releaseView releases a view, if there is one. A transaction that is kept does not keep it.
func releaseView(v *View) {
	if *v != nil {
		(*v).Release()
		*v = nil
	}
}

// SetReadVersion implements [kv.Transaction].
func (t *Transaction) SetReadVersion(version int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.fault != nil:
	case t.version != 0:
		_ = t.keepFault(kv.NewError(kv.CodeReadVersionAlreadySet, "the read version is %d already", t.version))
	case version <= 0:
		_ = t.keepFault(kv.NewError(kv.CodeVersionInvalid, "%d is not a version", version))
	default:
		t.chooseView(version)
		t.releaseUseless()
	}
}

// chooseView fixes the read version to one that may not be readable: reads say so.
func (t *Transaction) chooseView(version int64) {
	t.version = version
	t.view, t.viewErr = t.engine.At(version)
}

// GetReadVersion implements [kv.ReadTransaction].
func (t *Transaction) GetReadVersion() kv.Future[int64] {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := cmp.Or(t.fault, t.deadErr)
	if !t.started {
		err = t.checkUsable()
	}
	if err != nil {
		return kv.Resolved(int64(0), err)
	}
	version := t.fixReadVersion()
	t.releaseUseless()
	if kv.CodeOf(t.viewErr) == kv.CodeVersionInvalid {
		return kv.Resolved(int64(0), t.viewErr)
	}
	return kv.Resolved(version, nil)
}

// releaseUseless releases a view that was chosen once no more reads can begin. t.mu is held.
func (t *Transaction) releaseUseless() {
	if t.deadErr != nil || t.started && !t.commitWaits {
		releaseView(&t.view)
	}
}

// fixReadVersion is the version that the transaction's conflict ranges speak of.
func (t *Transaction) fixReadVersion() int64 {
	if t.version == 0 {
		t.chooseNewest()
	}
	return t.version
}
