// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// keptViews is how many past views can be read again by SetReadVersion.
const keptViews = 1024

// head is the newest view, and the order of versions: which were given to
// commits and which to readers.
type head struct {
	clock clock
	now   atomic.Pointer[view]

	mu       sync.Mutex
	assigned int64 // the last version given to a commit or a reader
	busy     bool  // a commit has a version and is not published yet
	past     [keptViews]*view
	pasts    int // how many views were ever put into past
	first    int // the first of them that is still needed
}

func (h *head) open(first *view) {
	first.version = h.clock.version()
	h.assigned = first.version
	h.now.Store(first)
	h.keep(first)
}

// keep remembers a view that differs from the one before. h.mu is held, or h is
// not shared yet.
func (h *head) keep(v *view) {
	h.past[h.pasts%keptViews] = v
	h.pasts++
	h.first = max(h.first, h.pasts-keptViews)
	for ; h.first < h.pasts-1; h.first++ {
		if h.past[(h.first+1)%keptViews].version > v.version-windowVersions {
			break
		}
		h.past[h.first%keptViews] = nil // nobody may read it any more
	}
}

// replace gives the newest view other entries that say the same.
func (h *head) replace(entries tree[entry]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, last := *h.now.Load(), *h.past[(h.pasts-1)%keptViews]
	now.entries, last.entries = entries, entries
	h.now.Store(&now)
	h.past[(h.pasts-1)%keptViews] = &last
}

// assign returns the version of the next commit. publish or abandon must
// follow.
func (h *head) assign() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.assigned = max(h.assigned+1, h.clock.version())
	h.busy = true
	return h.assigned
}

// publish makes the view of an assigned version the newest.
func (h *head) publish(v *view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now.Store(v)
	h.keep(v)
	h.busy = false
}

// abandon gives an assigned version up.
func (h *head) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy = false
}

// newest returns the view that a transaction that begins to read now reads.
func (h *head) newest() *view {
	v := h.now.Load()
	if h.clock.version()-v.version < freshVersions {
		return v
	}
	return h.renew()
}

// renew gives the newest view the version of this moment, unless a commit that
// is under way already has a version: that one could be lower.
func (h *head) renew() *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.now.Load()
	if version := h.clock.version(); !h.busy && version > v.version {
		renewed := *v
		renewed.version = version
		h.assigned = max(h.assigned, version)
		h.now.Store(&renewed)
		return &renewed
	}
	return v
}

// at returns the view of a version that the caller chose.
func (h *head) at(version int64) (*view, error) {
	if version > h.now.Load().version {
		h.renew()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if newest := h.now.Load(); version >= newest.version {
		if version > newest.version {
			return nil, kv.NewError(kv.CodeFutureVersion, "version %d is ahead of the newest, %d", version, newest.version)
		}
		return newest, nil
	}
	for i := h.pasts - 1; i >= h.first; i-- {
		if v := h.past[i%keptViews]; v.version <= version {
			seen := *v
			seen.version = version
			return &seen, nil
		}
	}
	return nil, tooOld(version)
}

// check returns CodeTransactionTooOld if a version is too old to be read.
func (h *head) check(version int64) error {
	if h.clock.version()-version > windowVersions {
		return tooOld(version)
	}
	return nil
}

func tooOld(version int64) error {
	return kv.NewError(kv.CodeTransactionTooOld, "version %d is older than %v", version, kv.MaxTransactionAge)
}
