// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ticket"
)

// get reads one key. It holds the lock to look at the own writes, to fix the view and
// to add the conflict range, and not while it reads the view: the view never
// changes, and reads of other keys need not wait.
func (t *Transaction) get(key []byte, snapshot bool) kv.Future[[]byte] {
	p, err := t.startGet(key, snapshot)
	if err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	if p.answered || p.readCached(key) {
		return kv.Resolved(slices.Clip(p.value), nil) // what lies behind it is shared, too
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
	p.key = bytes.Clone(key)
	return startRead(t, p.readStored, func() ([]byte, error) { return slices.Clip(p.value), t.keepReadError(p.err) })
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
	ticket  ticket.Ticket // of a key that memory does not have
	over    writeEntry    // own operations on what the database holds
	err     error         // of the view
	cost    int64         // that the read has added to the size
	attempt int           // Transaction.attempts when it began
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
func (p *pointRead) readStored(*atomic.Bool) {
	if p.value, p.err = p.view.Fetch(p.ticket, p.key); p.err == nil {
		p.value = p.over.applyTo(p.value)
	}
}

func unreadable(key []byte) error {
	return kv.NewError(kv.CodeAccessedUnreadable, "key %s awaits its versionstamp", keys.Printable(key))
}
