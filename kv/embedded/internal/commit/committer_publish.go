// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// batch is what is committed together: the requests of one version.
type batch struct {
	version  int64
	requests []*request
	accepted int
	changes  []mutation.Mutation // of the accepted, resolved to sets and clears
	frame    []byte              // for the log: the changes, encoded
	view     *mvcc.View          // the database after it
	cost     int64               // bytes that were written to the window or copied there

	published bool // the view is one that can be read
}

// recordBytes is the size at which a record of the log takes no more.
const recordBytes = 32 << 20

// full reports whether the batch can take no more: one version can tell only so
// many transactions apart.
func (b *batch) full() bool {
	return len(b.requests) >= math.MaxUint16 || len(b.frame) >= recordBytes
}

// refuse lets none of the batch be committed.
func (b *batch) refuse(err error) {
	for _, r := range b.requests {
		if r.err == nil {
			r.err = err
		}
	}
}

// sealBatch fixes the view of a batch that takes no more.
func (c *Committer) sealBatch(b *batch) {
	if b.accepted == 0 {
		return
	}
	b.view, b.cost = c.window.Snapshot(b.version, b.changes)
}

// commitBatch makes the batch durable and publishes it. If the disk fails, what it
// has done to the window is never published, and nothing is committed after it.
func (c *Committer) commitBatch(b *batch) {
	if b.accepted == 0 {
		c.head.Abandon()
		return
	}
	if err := c.persistBatch(b); err != nil {
		c.head.Abandon()
		b.refuse(err)
		return
	}
	c.head.Publish(b.view, b.cost)
	b.published = true
}

// answerRequests fires the watches on what the batch has changed, arms those of its
// transactions, and tells them what became of them. It is done with the batch.
func (c *Committer) answerRequests(b *batch) {
	c.stats.countBatch(b)
	if b.published {
		c.watches.FireChanged(b.view, b.changes)
	}
	for _, r := range b.requests {
		if b.published && r.err == nil {
			c.Arm(r.Watches)
		}
	}
	for _, r := range b.requests {
		r.Finisher.Finish(txn.Outcome{Version: b.version, Index: r.index, Err: r.err, Conflicts: r.conflicts})
		r.reset()
		c.requests.Put(r)
	}
	clear(b.requests)
	clear(b.changes)
	b.requests, b.changes, b.accepted, b.view, b.published = b.requests[:0], b.changes[:0], 0, nil, false
	if cap(b.frame) > 1<<20 {
		b.frame = nil
	}
	c.batches.Put(b)
}

// Arm arms watches. It does not wait.
func (c *Committer) Arm(watches []*watch.Watch) {
	c.watches.Arm(c.newestView, watches, c.readers.Start)
}

// newestView returns the newest view as watches compare it, acquired.
func (c *Committer) newestView() watch.View { return c.head.Acquire() }

// persistBatch makes a batch durable.
func (c *Committer) persistBatch(b *batch) error {
	if c.log == nil {
		return nil
	}
	if err := c.fault.Get(); err != nil {
		return err // the batch before was not written, or not for certain
	}
	if err := c.log.Append(b.version, b.frame); err != nil {
		return unknownOutcome(c.fault.Raise("committing", err))
	}
	return nil
}

// unknownOutcome is the error of a commit that was being made durable when the
// disk failed.
func unknownOutcome(err error) error {
	return fmt.Errorf("embedded: the commit may or may not be found when the database is opened again: %w: %w", kv.ErrOutcomeUnknown, err)
}

// cutJournal takes the groups that the base absorbs next out of the journal.
func (c *Committer) cutJournal(cutoff int64) (groups mvcc.JournalCut, more bool) {
	c.decideMu.Lock()
	defer c.decideMu.Unlock()
	return c.window.Journal().Cut(cutoff, absorbRoundKeys)
}

// sweptConflicts is how many steps of the resolver the absorber looks at each time.
const sweptConflicts = 8192

// sweepConflicts forgets old conflict ranges while no commit does.
func (c *Committer) sweepConflicts() {
	c.decideMu.Lock()
	defer c.decideMu.Unlock()
	c.resolver.Sweep(c.window.OldestReader(c.head.Now()), sweptConflicts)
}

// bytesSince returns what the writes in the window take that are newer than a version.
func (c *Committer) bytesSince(version int64) int64 {
	c.decideMu.Lock()
	defer c.decideMu.Unlock()
	return c.window.Journal().BytesSince(version)
}

// forgetAbsorbed drops from the window, within the spans, the writes up to
// version: the base has absorbed them.
func (c *Committer) forgetAbsorbed(within []mvcc.Span, version int64) {
	c.decideMu.Lock()
	c.window.Forget(within, version)
	c.stale = true
	c.releaseDecideMu()
}

// releaseDecideMu unlocks decideMu for a goroutine that changed the window or the
// vacancies outside of a batch. It refreshes the newest view before, unless a
// commit is under way: the view of that commit has the changes.
func (c *Committer) releaseDecideMu() {
	if c.stale && c.open == nil && c.diskMu.TryLock() {
		c.refreshView()
		c.diskMu.Unlock()
	}
	c.decideMu.Unlock()
	c.wakeDisk() // rule 6
}

// QueueSize returns how many requests are queued, and how large they are.
func (c *Committer) QueueSize() (requests, bytes int64) {
	c.queue.Lock()
	defer c.queue.Unlock()
	return int64(len(c.queue.requests)), c.queue.bytes
}

// FetchingBytes returns the size of the requests that wait for their inputs.
func (c *Committer) FetchingBytes() int64 { return c.fetching.Load() }

// oldestWaiting returns the lowest version that a request which waits for its
// commit has read at, and whether there is one.
func (c *Committer) oldestWaiting() (version int64, some bool) {
	c.decideMu.Lock()
	defer c.decideMu.Unlock()
	c.queue.Lock()
	defer c.queue.Unlock()
	version = math.MaxInt64
	for _, requests := range [][]*request{c.taken[c.next:], c.queue.requests} {
		for _, r := range requests {
			version = min(version, r.ReadVersion)
		}
	}
	return version, version != math.MaxInt64
}

// tryAddVacancies adds the vacancies that reads have reported and refreshes the
// newest view. If another goroutine holds decideMu, the next batch or report adds
// them.
func (c *Committer) tryAddVacancies() {
	if c.decideMu.TryLock() {
		c.addReportedVacancies()
		c.releaseDecideMu()
	}
}

// addReportedVacancies adds the vacancies that reads have reported. The caller
// holds decideMu.
func (c *Committer) addReportedVacancies() {
	if c.window.AddReportedVacancies() {
		c.stale = true
	}
}

// Stats counts what became of requests, and what was absorbed. None is on the path
// of a read.
type Stats struct {
	// Each request that was answered is counted in one of these.
	Commits, Conflicts, TooOld, Refused, Failed atomic.Int64
	BatchSize                                   commitlog.Histogram
	AbsorbedWrites                              atomic.Int64
	AbsorbTime                                  atomic.Int64 // nanoseconds
}

// countBatch counts the requests of a batch.
func (s *Stats) countBatch(b *batch) {
	commits := int64(0)
	for _, r := range b.requests {
		if r.err == nil {
			commits++
			continue
		}
		s.countFailure(r.err)
	}
	if commits > 0 {
		s.Commits.Add(commits)
		s.BatchSize.Add(commits)
	}
}

// countFailure counts a request that was not committed.
func (s *Stats) countFailure(err error) {
	switch kv.CodeOf(err) {
	case kv.CodeNotCommitted:
		s.Conflicts.Add(1)
	case kv.CodeTransactionTooOld:
		s.TooOld.Add(1)
	case kv.CodeCommitProxyMemoryLimitExceeded:
		s.Refused.Add(1)
	default:
		s.Failed.Add(1)
	}
}

// pressure bounds the memory of the window. Above the soft limit, commits
// move to the base before they are old: up to the oldest version that an open
// transaction may still read. At twice the soft limit, commits wait until the base has
// them, except for those that readers keep in memory. At the limit commits wait for
// these, too: at most until the oldest reader has become too old. FoundationDB's
// ratekeeper delays transactions likewise when a storage server lags.
type pressure struct {
	journal *mvcc.Journal
	soft    int64
	limit   int64
	held    atomic.Int64 // bytes that readers kept in memory when the absorber last looked

	relief  atomic.Bool  // commits that wait are let in once, however full it is
	delayed atomic.Int64 // since when commits wait, in nanoseconds since began; 0: they do not
	delays  atomic.Int64 // how often they had to
	waited  atomic.Int64 // how long in all, in nanoseconds
	began   time.Time
}

// high reports whether the window is larger than it should be. A nil pressure is
// never high.
func (p *pressure) high() bool { return p != nil && p.journal.Bytes() > p.soft }

// full reports whether commits must wait, and keeps account of it. A nil
// pressure is never full. One goroutine at a time may call it.
func (p *pressure) full() bool {
	if p == nil {
		return false
	}
	full := p.journal.Bytes() > min(p.limit, p.held.Load()+2*p.soft) && !p.relief.Swap(false)
	since := p.delayed.Load()
	switch {
	case full && since == 0:
		p.delays.Add(1)
		p.delayed.Store(max(int64(time.Since(p.began)), 1))
		p.journal.WakeAbsorber()
	case !full && since != 0:
		p.waited.Add(int64(time.Since(p.began)) - since)
		p.delayed.Store(0)
	}
	return full
}

// account returns whether commits wait, how often they had to, and how long in
// all.
func (p *pressure) account() (delayed bool, delays int64, total time.Duration) {
	since := p.delayed.Load()
	total = time.Duration(p.waited.Load())
	if since != 0 {
		total += time.Since(p.began) - time.Duration(since)
	}
	return since != 0, p.delays.Load(), total
}
