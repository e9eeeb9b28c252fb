// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"slices"
	"sort"
	"sync/atomic"
	"weak"

	"github.com/kazahana-db/kazahana/kv"
)

// history remembers the views of the last five seconds, for transactions that
// choose their read version. Each commit makes a view, and a view keeps what
// later commits replaced: nodes of the window, keys and values. So the history
// holds the newest views only, as many as its limit allows. Of the others it
// knows those that a transaction still reads, which keeps them itself.
type history struct {
	views []pastView // of the last five seconds, ascending
	first int        // the views before it are forgotten
	held  int        // the views from it on are held
	bytes int64      // that holding them takes
	limit int64      // of bytes
}

// pastView is a view of the past.
type pastView struct {
	version int64
	cost    int64 // bytes that its commit has written or copied: what holding the views before it takes
	readers *atomic.Int64
	view    weak.Pointer[View]
	held    *View // nil: only transactions keep it
}

// add remembers a view that differs from the one before. Its commit has
// written or copied so many bytes.
func (h *history) add(v *View, cost int64) {
	v.kept = v
	h.views = append(h.views, pastView{v.version, cost, v.readers, weak.Make(v), v})
	h.bytes += cost
	h.evict(v.version)
}

// charge adds bytes to what holding the past takes: the last view no longer has
// them, and those before it still do, if any is held.
func (h *history) charge(bytes int64) {
	if last := len(h.views) - 1; h.held < last {
		h.views[last].cost += bytes
		h.bytes += bytes
	}
}

// evict forgets the views that are too old to be read at version now. It releases
// the oldest that it holds while they take more than the limit. The newest stays.
func (h *history) evict(now int64) {
	last := len(h.views) - 1
	for h.first < last && h.views[h.first+1].version <= now-WindowVersions {
		h.first++
	}
	for h.held < last && (h.held < h.first || h.bytes > h.limit) {
		h.views[h.held].held = nil
		h.held++
		h.bytes -= h.views[h.held].cost
		h.views[h.held].cost = 0
	}
	if h.first > 1024 && h.first > len(h.views)/2 {
		h.views = slices.Delete(h.views, 0, h.first) // what it leaves after the end is zero, and keeps no view
		h.held -= h.first
		h.first = 0
	}
}

// replaceLast puts another view of the same state in the place of the last one.
func (h *history) replaceLast(v *View) {
	at := &h.views[len(h.views)-1]
	v.kept = v
	at.held.kept = v // a reader of the former view keeps v, so that the history finds it
	at.held, at.view = v, weak.Make(v)
}

// at returns the view that was the newest at a version.
func (h *history) at(version int64) (*View, error) {
	views := h.views[h.first:]
	i := sort.Search(len(views), func(i int) bool { return views[i].version > version })
	if i == 0 {
		return nil, TooOld(version)
	}
	v := views[i-1].view.Value()
	if v == nil || views[i-1].held == nil && v.readers.Load() == 0 { // then the base may be past it
		return nil, kv.NewError(kv.CodeTransactionTooOld, "version %d is not in memory any more: %d bytes were written since, and no transaction reads it", version, h.bytes)
	}
	return v, nil
}

// release lets go of all views that no transaction reads, the newest excepted.
func (h *history) release() {
	limit := h.limit
	h.limit = -1
	h.evict(0)
	h.limit = limit
}

// oldest returns the version of the oldest view that has a reader, and that was the newest
// at the given version or later. Readers that were not released and are garbage do not count.
func (h *history) oldest(above int64) int64 {
	views := h.views[h.first:]
	last := len(views) - 1
	for i, v := range views[:last] {
		if views[i+1].version > above && v.readers.Load() > 0 && v.view.Value() != nil {
			return v.version
		}
	}
	return views[last].version
}

// viewed returns the version of the view that is read at a version.
func (h *history) viewed(version int64) int64 {
	views := h.views[h.first:]
	i := sort.Search(len(views), func(i int) bool { return views[i].version > version })
	return views[max(i-1, 0)].version
}

// kept returns the oldest version with a view in memory, and how many are.
func (h *history) kept() (oldest int64, n int) {
	for _, v := range h.views[h.first:] {
		if v.view.Value() == nil {
			continue
		}
		if n++; n == 1 {
			oldest = v.version
		}
	}
	return oldest, n
}
