// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// noteID notes a record of the batch, if the batch builds an index of versions.
func (f *fill) noteID(id []byte) {
	if slices.ContainsFunc(f.indexes, func(ix index.Index) bool { return ix.Kind == index.Version && ix.State == index.Building }) {
		f.ids = append(f.ids, slices.Clone(id))
		f.read += versionBytes
	}
}

// versionBytes is about how many bytes of a transaction a version takes.
const versionBytes = 500

// setVersions gives a version to the records that have none: those that no program has
// written since the index is maintained. For a reader of changes they change now.
func (f *fill) setVersions(ctx context.Context) error {
	x := f.store.versions
	if x == nil || len(f.ids) == 0 {
		return nil
	}
	reads := make([]kv.Future[[]byte], len(f.ids))
	for i, id := range f.ids {
		reads[i] = f.t.writer.Get(x.versionKey(id))
	}
	for i, read := range reads {
		version, err := read.Get(ctx)
		if err != nil {
			return err
		}
		if version != nil {
			continue
		}
		if err := x.check(f.t, f.ids[i], nil); err != nil {
			return err
		}
		x.set(f.t, f.ids[i], nil, false)
	}
	return nil
}
