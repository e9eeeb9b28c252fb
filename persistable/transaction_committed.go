// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// writtenRecords are the records that an attempt of a transaction has written and that are told when
// it has committed: by their field for the version, and by AfterCommit. The mutex of the transaction
// guards them.
type writtenRecords struct {
	list    []writtenRecord
	earlier []writtenRecord   // of the last attempt before that may have committed
	stamp   kv.Future[[]byte] // of the commit, if a record has a field for the version
	tried   bool              // the attempt has come to its commit
	found   bool              // an earlier attempt did commit
}

// writtenRecord is the last form of a record, or a form that has become the stored one.
type writtenRecord struct {
	record  *record
	v       any
	key     []byte
	number  uint16 // in the transaction
	version bool   // the record has a version, and a field for it
	changed bool   // the write was not one of what was stored already
}

// forget removes the record with that key: the transaction has deleted it.
func (r *writtenRecords) forget(key []byte) {
	r.list = slices.DeleteFunc(r.list, func(w writtenRecord) bool { return bytes.Equal(w.key, key) })
}

// startAttempt begins another attempt. If unsure is set, the one before may have committed, should it
// have come that far.
func (r *writtenRecords) startAttempt(unsure bool) {
	if unsure && r.tried {
		r.earlier, r.list = r.list, nil
	}
	r.list, r.stamp, r.tried = r.list[:0], kv.Future[[]byte]{}, false
}

// prepareCommit asks for the versionstamp of the commit, if a record needs it.
func (t *transaction) prepareCommit() {
	t.written.tried = true
	if slices.ContainsFunc(t.written.list, func(r writtenRecord) bool { return r.version }) {
		t.written.stamp = t.writer.GetVersionstamp()
	}
}

// tellCommitted sets the versions of the records that the transaction has written, and calls
// AfterCommit of each.
func (t *transaction) tellCommitted(ctx context.Context) {
	list := t.written.list
	if t.written.found {
		list = t.written.earlier
	}
	if len(list) == 0 {
		return
	}
	last := map[string]int{}
	for i, r := range list {
		last[string(r.key)] = i
	}
	stamp := t.written.committedStamp(ctx)
	for i, r := range list {
		if r.version {
			*r.record.Version(r.v) = versionIn(stamp, r.number, last[string(r.key)] == i)
		}
	}
	for i, r := range list {
		if hook := r.record.Hooks.AfterCommit; hook != nil && r.changed && last[string(r.key)] == i {
			hook(ctx, r.v)
		}
	}
}

// committedStamp returns the versionstamp of the commit, nil if it is not known.
func (r *writtenRecords) committedStamp(ctx context.Context) []byte {
	if r.found {
		return nil
	}
	stamp, err := r.stamp.Get(context.WithoutCancel(ctx)) // it came with the commit
	if err != nil {
		return nil
	}
	return stamp
}

// versionIn returns the version of the write with that number, zero if it is not known, or if a later
// write of the transaction has replaced the form.
func versionIn(stamp []byte, number uint16, isLast bool) (v Version) {
	if len(stamp) != kv.VersionstampSize || !isLast {
		return v
	}
	copy(v[:], stamp)
	binary.BigEndian.PutUint16(v[kv.VersionstampSize:], number)
	return v
}
