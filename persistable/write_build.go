// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
)

// startBuildCheck starts the read of whether a build has done the record, if an index
// is being built that counts each record once. The read is of the round of the others.
func (w *write) startBuildCheck() {
	if w.store.undone != nil {
		w.buildCheck = w.store.buildList(w.place).StartCheck(w.t.writer, w.sc.key[len(w.store.records.Prefix):])
	}
}

// maintained returns the indexes that the write maintains: all but the disabled ones,
// and those of a build that counts each record once and has not yet come to this one
// (package build has the rules).
func (w *write) maintained(ctx context.Context) ([]index.Index, error) {
	if w.store.undone == nil {
		return w.store.maintained, nil
	}
	done, err := w.buildCheck.Wait(ctx)
	if err != nil || done {
		return w.store.maintained, err
	}
	return w.store.undone, nil
}

// withoutCounted returns the indexes with those disabled that are being built and count
// each record once; nil if there are none.
func withoutCounted(indexes []index.Index) (undone []index.Index) {
	for i := range indexes {
		if ix := &indexes[i]; ix.State == index.Building && !ix.Kind.Idempotent() {
			if undone == nil {
				undone = append(undone, indexes...)
			}
			undone[i].State = index.Disabled
		}
	}
	return undone
}
