// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
)

// lookup reads the value of one key of a store: that of a record, or of an entry
// of a unique index.
type lookup struct {
	place  *place
	t      *transaction
	sc     *scratch
	index  int    // of the unique index; byID for a record
	suffix []byte // the packed id, or the packed values

	store *openStore // nil: there is none
	value []byte     // nil: the key has none; the key is in sc

	versions versionReads // of the record, if that is what is read
}

// run opens the store and reads the value, in one round: at first in the store as
// last known, and again if the transaction finds another one.
func (l *lookup) run(ctx context.Context) error {
	known := l.t.lastKnown(l.place)
	var failed error
	if known != nil {
		failed = l.readIn(ctx, known)
	}
	var err error
	if l.store, err = l.t.openStore(ctx, l.place); err != nil || l.store == nil {
		return err
	}
	if l.index != byID {
		if err := l.place.checkReadable(l.store, l.index); err != nil {
			return err
		}
	}
	if l.store != known {
		return l.readIn(ctx, l.store)
	}
	return failed
}

// readIn reads the value in a store.
func (l *lookup) readIn(ctx context.Context, o *openStore) (err error) {
	if l.index == byID {
		l.sc.key = o.records.Append(l.sc.key[:0], l.suffix)
		l.versions = newVersionReads(l.place.record, l.t, o)
		l.versions.add(l.suffix)
	} else {
		l.sc.key = append(append(l.sc.key[:0], o.indexes[l.index].Prefix...), l.suffix...)
	}
	l.value, err = l.t.Reader.Get(l.sc.key).Get(ctx)
	return err
}
