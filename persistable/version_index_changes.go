// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// entriesAfter returns the keys of the changes behind a version.
func (x *versionIndex) entriesAfter(since Version) kv.KeyRange {
	r := index.Bounds{}.Range(x.Prefix)
	if !since.IsZero() {
		r.Begin = append(x.AppendVersionEntry(nil, since[:], nil), 0xff)
	}
	return r
}

// completeVersion adds the other changes of the last one's version.
func (x *versionIndex) completeVersion(ctx context.Context, t *transaction, pairs []kv.KeyValue) ([]kv.KeyValue, error) {
	last := pairs[len(pairs)-1].Key
	same := kv.PrefixRange(last[:len(x.Prefix)+1+len(Version{})])
	same.Begin = kv.Successor(last)
	more, err := t.Reader.GetRange(same.Selectors(), kv.RangeOptions{}).Slice(ctx)
	return append(slices.Clip(pairs), more...), err
}

// check returns why the version of the record with that packed id cannot be set. was is
// the version that it had before the transaction; nil: none.
func (x *versionIndex) check(t *transaction, id, was []byte) error {
	if len(x.AppendVersionEntry(nil, zeroVersion[:], id)) > kv.MaxKeySize {
		return fmt.Errorf("persistable: the id %s is too long for the index %s: use a shorter id", idText(id), x.Name)
	}
	if was != nil && len(was) != len(zeroVersion) {
		return &RecordError{
			ID: idText(id), Key: x.versionKey(id), Reason: fmt.Sprintf("its version has %d bytes instead of %d", len(was), len(zeroVersion)),
			Remedy: "run Indexes().Rebuild of " + x.Name,
		}
	}
	return t.versions.check(x.versionKey(id))
}

// set writes the version of the record with that packed id, after check.
func (x *versionIndex) set(t *transaction, id, was []byte, deleted bool) {
	number, again := t.versions.number(x.versionKey(id))
	if again {
		was = nil
	}
	x.SetVersion(t.writer, id, was, number, deleted)
	t.writer.Atomic(kv.SetVersionstampedValue, x.changed, changedOperand)
}

var (
	zeroVersion Version
	// changedOperand puts the ten bytes of the versionstamp at the value's beginning.
	changedOperand = make([]byte, 10+4)
)
