// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// startAttempt forgets what the attempt before has seen.
func (t *transaction) startAttempt() {
	t.opened, t.asked = openPlaces{}, false
	t.fences = nil
	t.earlier = append(t.earlier, t.created...)
	t.created = t.created[:0]
}

// committedEarlier reports whether an attempt before this one did commit: a
// record that it created is there and has the token of this call. It is asked
// in every attempt behind one with an unknown outcome, whatever errors came in
// between.
func (t *transaction) committedEarlier(ctx context.Context) (bool, error) {
	reads := make([]kv.Future[[]byte], len(t.earlier))
	for i, key := range t.earlier {
		reads[i] = t.Reader.Get(key)
	}
	for _, read := range reads {
		value, err := read.Get(ctx)
		if err != nil {
			return false, err
		}
		if s, err := format.ParseRecord(value); err == nil && s.Token == t.token {
			return true, nil
		}
	}
	return false, nil
}

// noteCreated remembers the key of a record that this attempt creates: each, so
// that it does not matter which of them others delete before the attempt is
// asked about.
func (t *transaction) noteCreated(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = append(t.created, slices.Clone(key))
}

// noteDeleted forgets the key if it was remembered: the record will not tell.
func (t *transaction) noteDeleted(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = slices.DeleteFunc(t.created, func(k []byte) bool { return bytes.Equal(k, key) })
}
