// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
)

// compareLogs checks the log matching property: if two logs have an entry of the same index and term, they
// are the same up to it.
func (w *world) compareLogs() {
	for i, p := range w.nodes {
		for _, q := range w.nodes[:i] {
			w.compareTwo(p, q)
		}
	}
}

func (w *world) compareTwo(p, q *process) {
	a, b := p.entriesOnDisk(), q.entriesOnDisk()
	matched := false
	for index := min(p.lastIndex(), q.lastIndex()); a[index] != nil && b[index] != nil; index-- {
		x, y := a[index], b[index]
		same := x.GetTerm() == y.GetTerm()
		if matched && !same || same && !bytes.Equal(x.GetData(), y.GetData()) {
			w.fail(Mismatch, "nodes %d and %d at index %d: terms %d and %d", p.id, q.id, index, x.GetTerm(), y.GetTerm())
		}
		matched = matched || same
	}
}
