// SPDX-License-Identifier: Apache-2.0

package embedded

// ownWatch is a watch until its transaction commits.
type ownWatch struct {
	*watch
	unread bool       // the value is being read
	set    *operation // then: the last set or clear of the key by the transaction itself
}

// setValue takes the value that the transaction sees, or why it cannot be read.
// What the transaction has set or cleared meanwhile fires the watch if it differs.
func (w *ownWatch) setValue(value []byte, err error) {
	w.value, w.unread = value, false
	switch {
	case err != nil:
		w.finish(err)
	case w.set != nil && !same(w.set.value, value):
		w.finish(nil)
	}
}

// engineWatches returns the watches of an attempt, for the engine to arm.
func (a *attempt) engineWatches() []*watch {
	if len(a.watches) == 0 {
		return nil
	}
	watches := make([]*watch, len(a.watches))
	for i, w := range a.watches {
		watches[i] = w.watch
	}
	return watches
}
