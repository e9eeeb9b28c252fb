// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// startAttempt drops the state of the attempt before, but for what it may have committed.
func (t *transaction) startAttempt(a kv.Attempt) {
	t.opened, t.asked = openPlaces{}, false
	t.fences = nil
	t.versions = ownVersions{}
	t.spoiled = nil
	if a.MaybeCommitted && a.Conflicts == 0 { // an attempt that conflicted has committed nothing
		t.earlier = append(t.earlier, t.created...)
		slices.SortFunc(t.earlier, bytes.Compare)
		t.earlier = slices.CompactFunc(t.earlier, bytes.Equal)
	}
	t.created = t.created[:0]
}

// committedEarlier reports whether an earlier attempt did commit: a record that it
// created is there and has the token of this call. Every attempt after one with an
// unknown outcome asks, whatever errors came in between.
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

// noteCreated notes the key of a record that this attempt creates. All are noted,
// because other transactions may delete some before committedEarlier looks.
func (t *transaction) noteCreated(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = append(t.created, slices.Clone(key))
}

// noteDeleted removes a key that noteCreated noted.
func (t *transaction) noteDeleted(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = slices.DeleteFunc(t.created, func(k []byte) bool { return bytes.Equal(k, key) })
}
