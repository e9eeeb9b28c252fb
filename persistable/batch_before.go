// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
)

// runBefore is run for a batch that may have a fault already, behind the writes that
// were added.
func (b *batch) runBefore(ctx context.Context) (applied int, err error) {
	fault := b.fault
	b.fault = nil
	if applied, err = b.run(ctx); err == nil && b.fault == nil {
		b.fault = fault
	}
	if why := cmp.Or(err, b.fault); b.created && applied == 0 && why != nil {
		b.t.spoil(why)
	}
	return applied, err
}

// notFound is the error of a record that must exist in a store that does not.
func (b *batch) notFound(v any) error {
	w := write{record: b.source.record, place: b.source.place, sc: getScratch()}
	defer w.sc.release()
	w.sc.id = b.source.record.appendID(w.sc.id[:0], v)
	return w.notFound()
}

// fit returns how many records the next transaction may have, if this one was allowed
// to have size: fewer if these were too large.
func (b *batch) fit(size, limit int) int {
	switch {
	case b.isFull:
		return len(b.writes)
	case b.bytes > 2*limit:
		return max(1, len(b.writes)*limit/b.bytes)
	}
	return size
}

// isUnchanged reports whether the last write of each record would leave the stored form as it
// is. The reads are started.
func (b *batch) isUnchanged(ctx context.Context) (bool, error) {
	seen := map[string]bool{}
	for i := range b.writes {
		w := &b.writes[len(b.writes)-1-i]
		if seen[string(w.sc.key)] {
			continue
		}
		seen[string(w.sc.key)] = true
		if err := w.readEntries(ctx); err != nil {
			return false, err
		}
		if err := w.keepStored(); err != nil || !w.isUnchanged() {
			return false, err
		}
	}
	return true, nil
}
