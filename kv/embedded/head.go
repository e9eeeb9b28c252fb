// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeset"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
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
	expiry   *time.Timer // evicts what becomes too old while nothing is committed; nil: nothing will
}

// historyShare is which part of the window's limit the views of the past may take
// beside it: one in so many.
const historyShare = 16

// open begins with a view, and with a limit of bytes for those of the past.
func (h *head) open(first *view, limit int64) {
	first.version = h.clock.version()
	h.assigned = first.version
	h.past.limit = limit
	h.past.add(first, 0)
	h.now.Store(first)
}

// replace gives the newest view other entries and vacancies that say the same.
// Making the entries has copied so many bytes.
func (h *head) replace(entries btree.Tree[entry], vacant rangeset.Set, copied int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.charge(copied)
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

// publish makes the view of an assigned version the newest. Its commit has written
// or copied so many bytes.
func (h *head) publish(v *view, cost int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.add(v, cost)
	h.now.Store(v)
	h.busy--
	h.expireLater()
}

// expireLater sees to it that views of the past are evicted once they are too old.
// h.mu is held.
func (h *head) expireLater() {
	if h.expiry == nil && h.past.held < len(h.past.views)-1 {
		h.expiry = time.AfterFunc(kv.MaxTransactionAge, h.expire)
	}
}

// expire evicts views of the past, and goes on while there are any.
func (h *head) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.evict(h.clock.version())
	h.expiry = nil
	h.expireLater()
}

// absorbed tells that the window has forgotten so many bytes, and evicts the views
// that are too old or take too much.
func (h *head) absorbed(bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes > 0 {
		h.past.charge(bytes)
	}
	h.past.evict(h.clock.version())
}

// close releases the views of the past.
func (h *head) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.release()
	if h.expiry != nil {
		h.expiry.Stop()
	}
}

// abandon gives an assigned version up.
func (h *head) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
}

// published returns the newest view as watches compare it.
func (h *head) published() watch.View { return engineView{h.now.Load()} }

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

// kept returns the oldest version whose view is in memory, how many are, and what
// the history's take.
func (h *head) kept() (oldest int64, views int, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest, views = h.past.kept()
	return oldest, views, h.past.bytes
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
