// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
)

// watch yields the record with that packed id, and each later state that it sees.
func (s source) watch(ctx context.Context, id []byte, yield func(any, error) bool) {
	err := s.checkUsable()
	if err == nil && s.tx != nil {
		err = fmt.Errorf("persistable: %s: Watch reads in transactions of its own: use a store that is not bound to one", s.record.Type)
	}
	w := watcher{source: &s, id: id}
	defer w.cancel()
	for err == nil {
		v, changed, failed := w.look(ctx)
		if err = failed; err != nil {
			break
		}
		if changed && !yield(v, nil) {
			return
		}
		err = w.wait(ctx)
	}
	yield(nil, err)
}
