// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// Watch implements [kv.Transaction].
func (t *Transaction) Watch(key []byte) kv.Future[struct{}] {
	failed := func(err error) kv.Future[struct{}] { return kv.Resolved(struct{}{}, err) }
	if err := t.checkWatch(key); err != nil {
		return failed(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = true
	p, err := t.startPointRead(&t.writes, key, nil)
	if err == nil && !p.answered {
		p.readCached(key)
		err = p.err
	}
	if err != nil {
		return failed(err)
	}
	if !p.known {
		t.addKeyRead(key, false)
	}
	added, err := t.engine.NewWatch(keys.Own(key), p.value)
	if err != nil {
		return failed(err)
	}
	a, w := t.ensureAttempt(), &ownWatch{Watch: added}
	a.watches = append(a.watches, w)
	if !p.answered {
		p.key, w.unread = w.Key, true
		startRead(t, p.readStored, func() (struct{}, error) {
			w.setValue(p.value, p.err)
			return struct{}{}, nil
		})
	}
	return kv.NewFuture[struct{}](w.Watch)
}

func (t *Transaction) checkWatch(key []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkUsable(); err != nil {
		return err
	}
	switch {
	case t.settings.rywDisabled:
		return kv.NewError(kv.CodeWatchesDisabled, "read-your-writes is disabled")
	case bytes.Compare(key, t.settings.readEnd()) >= 0 && !isMetadata(key):
		return outside(key)
	case len(key) > longestKey(key):
		return kv.NewError(kv.CodeKeyTooLarge, "key %s", keys.Printable(key))
	}
	return nil
}
