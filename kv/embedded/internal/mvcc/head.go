// SPDX-License-Identifier: Apache-2.0

// Package mvcc holds the versions of the database: an immutable view for each version,
// of the recent writes (the window) over the older state (the base). It also finds
// conflicts of transactions.
//
// It promises to the packages above:
//
//   - A [View] is the database at one version. Any number of goroutines read it without
//     a lock, while commits go on. A read at a version that the base has gone past gets
//     CodeTransactionTooOld, never a value of another version.
//   - [Head.Newest] has every commit that was published before the call, and its
//     version is below that of every commit that is assigned one later.
//   - [Head.At] finds the views of the last five seconds that transactions read, and as
//     many others as the limit of the history allows.
//   - [Resolver.Conflicts] finds every write conflict range above a version that is not
//     below [Window.OldestReader], and no other.
//   - [Window.Forget] drops only writes up to the version that it is given; views that
//     were made before keep them. The [Journal] lists the writes of the window that are
//     to move to the base.
//   - Vacancies, ranges that a read found empty, change the cost of a scan and never
//     its result.
//
// The window, the resolver, the journal and the vacancies are one package because they
// describe the same writes: the resolver finds the versions of single keys in the
// window's entries, the window removes keys that are set from the vacancies, and the
// journal lists the entries. The package above decides when they change: it commits,
// makes durable, and absorbs.
//
// A [Window] with its [Resolver] has no lock: one goroutine at a time uses them.
// Everything else is safe for concurrent use, as [Head] and [Journal] say.
package mvcc

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
)

const (
	// WindowVersions is the age, in versions, beyond which nothing is read or
	// committed.
	WindowVersions = int64(kv.MaxTransactionAge/time.Second) * kv.VersionsPerSecond

	// RestartVersions is the least distance between the versions before and
	// after a restart, as FoundationDB's recovery has it.
	RestartVersions = 100 * kv.VersionsPerSecond

	// FreshVersions is the age after which a read version is renewed although
	// nothing was committed.
	FreshVersions = kv.VersionsPerSecond / 10
)

// clock turns time into versions: one a microsecond. It starts at the wall
// clock's microseconds, so that versions grow over restarts, but never below
// what the database has seen; from there it follows the monotonic clock. It is safe for
// concurrent use once it has started.
type clock struct {
	began time.Time
	first atomic.Int64 // the version at began
}

func (c *clock) start(seen int64) {
	c.began = time.Now()
	first := c.began.UnixMicro()
	if seen > 0 {
		first = max(first, seen+RestartVersions)
	}
	c.first.Store(first)
}

// version returns the version that belongs to this moment.
func (c *clock) version() int64 { return c.first.Load() + c.sinceStart() }

func (c *clock) sinceStart() int64 { return int64(time.Since(c.began) / time.Microsecond) }

// advance makes all later versions higher than above. One goroutine at a time may call it.
func (c *clock) advance(above int64) {
	c.first.Store(max(c.first.Load(), above+1-c.sinceStart()))
}

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

// Open begins with the view of a window over a base; nil: the window holds
// everything. seen is the highest version that the database has seen, 0 for none,
// and history how many bytes the views may take that no transaction reads.
func (h *Head) Open(w *Window, b *base.Base, seen, history int64) (err error) {
	if w.base = b; b != nil {
		w.env.sample = b.ByteSample()
	}
	h.clock.start(seen)
	first := w.view(h.clock.version())
	h.assigned = first.version
	h.past.limit = history
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

// Acquire returns the newest view for a reader, which calls [View.Release] when it has
// read: until then the base does not get past its version, unless that is too old. A
// reader that becomes garbage without that is found by the collector.
func (h *Head) Acquire() *View {
	for {
		v := h.Newest()
		v.readers.Add(1)
		if h.now.Load().readers == v.readers {
			return v // so OldestRead counts it, once there is a newer one
		}
		v.Release()
	}
}

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

// At returns the view of a version that the caller chose, acquired: see [Head.Acquire].
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
		newest.readers.Add(1)
		return newest, nil
	}
	v, err := h.past.at(version)
	if err != nil {
		return nil, err
	}
	v.readers.Add(1)
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

// OldestRead returns a version below which there is no reader, but for those
// that read below the given one.
func (h *Head) OldestRead(above int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.past.oldest(above)
}

// Kept returns the oldest version with a view in memory, how many are, and what
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
