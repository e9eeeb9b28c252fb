// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// head is the newest view, and the order of versions: which were given to
// commits and which to readers.
type head struct {
	clock clock
	now   atomic.Pointer[view]

	mu       sync.Mutex
	assigned int64 // the last version given to a commit or a reader
	busy     int   // how many versions of commits are neither published nor abandoned
	past     history
}

func (h *head) open(first *view) {
	first.version = h.clock.version()
	h.assigned = first.version
	h.past.add(first)
	h.now.Store(first)
}

// replace gives the newest view other entries and vacancies that say the same.
func (h *head) replace(entries tree[entry], vacant rangeSet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := *h.now.Load()
	last := *now.kept
	now.entries, last.entries = entries, entries
	now.vacant, last.vacant = vacant, vacant
	h.past.replaceLast(&last)
	now.kept = &last
	h.now.Store(&now)
}

// assign returns the version of the next commit. publish or abandon must
// follow.
func (h *head) assign() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.assigned = max(h.assigned+1, h.clock.version())
	h.busy++
	return h.assigned
}

// publish makes the view of an assigned version the newest.
func (h *head) publish(v *view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.add(v)
	h.now.Store(v)
	h.busy--
}

// abandon gives an assigned version up.
func (h *head) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
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
	if version := h.clock.version(); h.busy == 0 && version > v.version {
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
	v, err := h.past.at(version)
	if err != nil {
		return nil, err
	}
	seen := *v
	seen.version = version
	return &seen, nil
}

// releasePast lets the past views go that no transaction reads.
func (h *head) releasePast() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.release()
}

// oldestRead returns a version below which no transaction reads, but for those
// that read below the given one.
func (h *head) oldestRead(above int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.past.oldest(above)
}

// kept returns the oldest version whose view is in memory, and how many are.
func (h *head) kept() (oldest int64, views int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.past.kept()
}

// viewed returns the version of the view that is read at a version.
func (h *head) viewed(version int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.past.viewed(version)
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
