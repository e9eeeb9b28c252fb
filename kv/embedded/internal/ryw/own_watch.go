// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// ownWatch is a watch until its transaction commits.
type ownWatch struct {
	*watch.Watch
	unread bool       // the value is being read
	set    *operation // then: the last set or clear of the key by the transaction itself
}

// setValue takes the value that the transaction sees, or why it cannot be read.
// What the transaction has set or cleared meanwhile fires the watch if it differs.
func (w *ownWatch) setValue(value []byte, err error) {
	w.Value, w.unread = value, false
	switch {
	case err != nil:
		w.Finish(err)
	case w.set != nil && !same(w.set.value, value):
		w.Finish(nil)
	}
}

// same reports whether two values are equal; absent and empty differ.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
