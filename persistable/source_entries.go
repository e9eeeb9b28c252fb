// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// entries returns the keys that the record with that packed id has.
func (s source) entries(ctx context.Context, id []byte) (all []erased.Entry, err error) {
	ctx, o := s.begin(ctx, "Entries", byID)
	defer o.finish(&err)
	err = s.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, s.place)
		if err != nil {
			return err
		}
		if o == nil {
			return s.notFound(id)
		}
		e := entryList{source: &s, reader: t.Reader, store: o, id: id}
		if err := e.readRecord(ctx); err != nil {
			return err
		}
		if err := e.readIndexes(ctx); err != nil {
			return err
		}
		all = e.all
		return nil
	})
	return all, err
}
