// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// runBefore is run for a batch that may have a fault already, behind the writes that
// were added.
func (b *batch) runBefore(ctx context.Context) (applied int, err error) {
	fault := b.fault
	b.fault = nil
	if applied, err = b.run(ctx); err == nil && b.fault == nil {
		b.fault = fault
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
