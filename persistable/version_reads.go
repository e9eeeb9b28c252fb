// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// versionReads are reads of the versions of records, for types that have a field for it.
// They are started with the reads of the records. The zero value reads nothing.
type versionReads struct {
	record *record
	t      *transaction
	index  *versionIndex // nil: nothing is read
	reads  []kv.Future[[]byte]
}

func newVersionReads(r *record, t *transaction, o *openStore) versionReads {
	if r.Version == nil || o == nil {
		return versionReads{}
	}
	return versionReads{record: r, t: t, index: o.versions}
}

// add starts the read of the next record's version. A version that the transaction writes
// itself is not known: it is left zero.
func (v *versionReads) add(id []byte) {
	if v.index == nil {
		return
	}
	key := v.index.versionKey(id)
	if !v.t.isReadOnly() && v.t.versions.isOwn(key) {
		v.reads = append(v.reads, kv.Future[[]byte]{})
		return
	}
	v.reads = append(v.reads, v.t.Reader.Get(key))
}

// fill sets the version of the i-th record that was added.
func (v *versionReads) fill(ctx context.Context, i int, record any) error {
	if v.index == nil || record == nil {
		return nil
	}
	stored, err := v.reads[i].Get(ctx)
	if err != nil {
		return pending(err) // another Tx of the transaction has written it
	}
	return v.record.setVersion(record, stored)
}
