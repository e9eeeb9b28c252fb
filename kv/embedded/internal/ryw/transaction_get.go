// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

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

// pointRead is a read of one key: of what own writes, and the view, had when it
// was begun.
type pointRead struct {
	value []byte
	there bool // value is the answer; else fetch gets it
	known bool // it does not come from the database, so that the read cannot conflict

	key  []byte
	view View
	over writeEntry // own operations on what the database holds
	err  error      // of fetch
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
