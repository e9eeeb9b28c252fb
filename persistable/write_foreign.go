// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// gatherUnmerged adds the entries of the new form in foreign indexes, as if nothing
// were stored. They are right for a new record; for others mergeForeign makes them
// again where needed, and an error that was premature is forgotten.
func (w *write) gatherUnmerged() {
	w.formSize, w.merged, w.unfit = len(w.sc.value), false, nil
	if w.store.hasForeign() {
		w.unfit = w.gatherForeign(&w.sc.now, w.store, w.sc.id, w.sc.key, w.v, w.sc.value[format.HeaderSize:])
	}
}

// mergeForeign merges the stored form's unknown fields into the new form before the
// claims are checked, and then makes the entries in foreign indexes again: those
// indexes are mostly of such fields. A foreign unique index costs one more round of
// reads then, because its keys were not known before.
func (w *write) mergeForeign() error {
	if w.v == nil || !w.store.hasForeign() {
		return nil
	}
	if err := w.keepStored(); err != nil {
		return err
	}
	merged := len(w.sc.value) > w.formSize
	if !merged && !w.merged {
		return w.unfit
	}
	w.merged = merged
	if err := w.gatherBoth(&w.sc.now, w.store, w.sc.id, w.sc.key, w.v, w.sc.value[format.HeaderSize:]); err != nil {
		return err
	}
	if w.store.foreign.hasUnique {
		w.sc.claims.Start(w.t.writer, w.store.maintained, &w.sc.now)
	}
	return nil
}
