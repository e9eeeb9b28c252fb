// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/readers"
)

// AppendGets implements [kv.ManyGetter].
func (t *Transaction) AppendGets(futures []kv.Future[[]byte], keys [][]byte) []kv.Future[[]byte] {
	return t.appendGets(futures, keys, false)
}

// AppendGets implements [kv.ManyGetter].
func (s snapshot) AppendGets(futures []kv.Future[[]byte], keys [][]byte) []kv.Future[[]byte] {
	return s.appendGets(futures, keys, true)
}

// manyAtOnce is how many reads appendGets makes with one locking of the transaction.
const manyAtOnce = 32

// appendGets is a get of each key. It locks the transaction, fixes the view and looks
// at its age once for manyAtOnce reads, and lets the processor load what memory has
// of all of them before it looks at the first.
func (t *Transaction) appendGets(futures []kv.Future[[]byte], keys [][]byte, snapshot bool) []kv.Future[[]byte] {
	before := len(futures)
	futures = slices.Grow(futures, len(keys))[:before+len(keys)]
	started := futures[before:]
	for first := 0; first < len(keys); first += manyAtOnce {
		last := min(first+manyAtOnce, len(keys))
		t.getSome(keys[first:last], snapshot, started[first:last])
	}
	return futures
}

// getSome is appendGets for at most manyAtOnce keys.
func (t *Transaction) getSome(keys [][]byte, snapshot bool, futures []kv.Future[[]byte]) {
	var reads [manyAtOnce]pointRead
	var view View
	t.mu.Lock()
	for i, key := range keys {
		p, err := t.beginGet(key, snapshot, view)
		if err != nil {
			p.answered, futures[i] = true, kv.Resolved[[]byte](nil, err)
		} else if p.answered {
			futures[i] = kv.Resolved(slices.Clip(p.value), nil)
		} else {
			view = p.view
		}
		reads[i] = p
	}
	t.mu.Unlock()
	if view == nil {
		return
	}
	view.Prefetch(keys)
	missed := 0
	for i, key := range keys {
		if p := &reads[i]; p.answered {
			continue
		} else if p.readCached(key) {
			futures[i] = kv.Resolved(slices.Clip(p.value), nil)
		} else {
			missed++
		}
	}
	if missed > 0 {
		t.finishMany(reads[:len(keys)], keys, futures, missed)
	}
}

// finishMany goes on with the reads that memory has not answered, of which there are
// so many.
func (t *Transaction) finishMany(reads []pointRead, keys [][]byte, futures []kv.Future[[]byte], missed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tasks := make([]readers.Task, 0, missed)
	for i := range reads {
		if reads[i].answered {
			continue
		}
		p := reads[i] // on the heap, without the others
		if err := t.checkGoesOn(&p); err != nil {
			futures[i] = kv.Resolved[[]byte](nil, err)
			continue
		}
		p.key = bytes.Clone(keys[i])
		read := newPendingRead(t, p.readStored, func() ([]byte, error) { return slices.Clip(p.value), t.keepReadError(p.err) })
		futures[i], tasks = kv.NewFuture[[]byte](read), append(tasks, read)
	}
	if len(tasks) == 1 && len(t.pending) == 1 {
		t.heldRead = t.pending[0]
		return
	}
	t.startHeld()
	for some := range slices.Chunk(tasks, readsInTask) {
		t.engine.Start(taskGroup(some))
	}
}

// readsInTask is how many reads of an appendGets a goroutine makes one after the other.
// More would save the start of a goroutine, and wait longer for a slow disk.
const readsInTask = 8

// taskGroup is tasks that one goroutine runs one after the other.
type taskGroup []readers.Task

// Run implements [readers.Task].
func (g taskGroup) Run() {
	for _, t := range g {
		t.Run()
	}
}
