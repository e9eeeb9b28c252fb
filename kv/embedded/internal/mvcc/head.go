// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
)

// Head is the newest view, and the order of versions: which were given to
// commits and which to readers. It is safe for concurrent use; Open comes first.
//
// Rules of the lock:
//
//  1. mu guards the fields below it, and View.kept of all views.
//  2. now is stored with mu held, and loaded without.
//  3. A version is assigned with mu held, and while busy is not 0 the newest view gets
//     no newer version: it could be above that of a commit under way.
//  4. mu is innermost: its holder takes no other lock and does not wait.
type Head struct {
	clock clock
	now   atomic.Pointer[View]

	mu       sync.Mutex
	assigned int64 // the last version given to a commit or a reader
	busy     int   // how many versions of commits are neither published nor abandoned
	past     history
	expiry   *time.Timer // evicts what becomes too old while nothing is committed; nil: nothing will
}

// historyShare is which part of the window's limit the views of the past may take
// beside it: one in so many.
const historyShare = 16

// Open begins with the view of a window over a base; nil: the window holds
// everything. seen is the highest version that the database has seen, 0 for none,
// and windowLimit how many bytes the window may take.
func (h *Head) Open(w *Window, b *base.Base, seen, windowLimit int64) (err error) {
	if w.base = b; b != nil {
		w.env.sample = b.ByteSample()
	}
	h.clock.start(seen)
	first := w.view(h.clock.version())
	h.assigned = first.version
	h.past.limit = windowLimit / historyShare
	h.past.add(first, 0)
	h.now.Store(first)
	first.metadata, err = first.Get(metadataKey)
	w.metadata = first.metadata
	return err
}

// Refresh gives the newest view the window's present entries and vacancies, which
// say the same.
func (h *Head) Refresh(w *Window) {
	entries, vacant := w.entries.Snapshot(), w.vacant.Snapshot()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.charge(w.takeCost())
	now := *h.now.Load()
	last := *now.kept
	now.entries, last.entries = entries, entries
	now.vacant, last.vacant = vacant, vacant
	h.past.replaceLast(&last)
	now.kept = &last
	h.now.Store(&now)
}

// Assign returns the version of the next commit. [Head.Publish] or
// [Head.Abandon] must follow.
func (h *Head) Assign() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.assigned = max(h.assigned+1, h.clock.version())
	h.busy++
	return h.assigned
}

// Advance makes all versions that are assigned or read from now on higher than above, as
// if the time until then had passed.
func (h *Head) Advance(above int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock.advance(above)
}

// Publish makes the view of an assigned version the newest. Its commit has written
// or copied so many bytes.
func (h *Head) Publish(v *View, cost int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.add(v, cost)
	h.now.Store(v)
	h.busy--
	h.expireLater()
}

// expireLater sees to it that views of the past are evicted once they are too old.
// h.mu is held.
func (h *Head) expireLater() {
	if h.expiry == nil && h.past.held < len(h.past.views)-1 {
		h.expiry = time.AfterFunc(kv.MaxTransactionAge, h.expire)
	}
}

// expire evicts views of the past, and goes on while there are any.
func (h *Head) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.evict(h.renewLocked().version)
	h.expiry = nil
	h.expireLater()
}

// Evict evicts the views that are too old or take too much.
func (h *Head) Evict() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.evict(h.renewLocked().version)
}

// Close releases the views of the past.
func (h *Head) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.release()
	if h.expiry != nil {
		h.expiry.Stop()
	}
}

// Abandon gives an assigned version up.
func (h *Head) Abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
}

// Published returns the newest view as the last commit has left it.
func (h *Head) Published() *View { return h.now.Load() }

// Now returns the newest version that can be read: that of this moment, or, while a
// commit is under way, that of the last one.
func (h *Head) Now() int64 { return h.renew().version }

// Newest returns the view that a transaction that begins to read now reads.
func (h *Head) Newest() *View {
	v := h.now.Load()
	if h.clock.version()-v.version < FreshVersions {
		return v
	}
	return h.renew()
}

// renew gives the newest view the version of this moment, unless a commit that
// is under way already has a version: that one could be lower.
func (h *Head) renew() *View {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.renewLocked()
}

// renewLocked is renew for a caller that holds mu.
func (h *Head) renewLocked() *View {
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

// At returns the view of a version that the caller chose.
func (h *Head) At(version int64) (*View, error) {
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

// ReleasePast lets the past views go that no transaction reads.
func (h *Head) ReleasePast() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past.release()
}

// OldestRead returns a version below which no transaction reads, but for those
// that read below the given one.
func (h *Head) OldestRead(above int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.past.oldest(above)
}

// Kept returns the oldest version whose view is in memory, how many are, and what
// the history's take.
func (h *Head) Kept() (oldest int64, views int, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest, views = h.past.kept()
	return oldest, views, h.past.bytes
}

// ViewVersion returns the version of the view that is read at a version.
func (h *Head) ViewVersion(version int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.past.viewed(version)
}

// CheckAge returns CodeTransactionTooOld if a version is too old to be read. As in
// FoundationDB it is compared with the newest version and not with the clock: while a
// commit hangs there is no newer one, and what is the newest is not too old.
func (h *Head) CheckAge(version int64) error {
	if h.clock.version()-version <= WindowVersions || h.renew().version-version <= WindowVersions {
		return nil
	}
	return TooOld(version)
}

// TooOld returns the error of a read or a commit at a version that is too old.
func TooOld(version int64) error {
	return kv.NewError(kv.CodeTransactionTooOld, "version %d is older than %v", version, kv.MaxTransactionAge)
}
