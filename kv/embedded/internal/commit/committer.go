// SPDX-License-Identifier: Apache-2.0

// Package commit turns requests into versions, and moves versions to the base once they
// are old: it is the only place where the database changes.
//
// The [Committer] promises to the packages above:
//
//   - [Committer.Commit] and [Committer.Drive] never wait for the disk. Each request
//     gets one outcome, even if the disk fails, the window is full, or the committer is
//     stopped.
//   - A request commits only if no commit above its read version wrote to its read
//     conflict ranges. Versions ascend, and all requests of a batch have one version.
//   - A request that got a version is in the log, synced unless the log is lazy, and in
//     the newest view. After the first error of the disk nothing more commits.
//   - Watches fire only for published changes.
//
// The [Absorber] promises:
//
//   - A write leaves the window only after the base has it, and the log only after the
//     base has it on the disk. Writes that it gives to the base are synced in the log.
//   - The window takes little more than twice SettleAt, or WindowSize with what readers keep
//     there: commits move before they are old, up to the oldest version that a transaction
//     reads, and then commits wait.
//
// Both are one package because they share one lock and one count of memory. Between two
// decisions of the committer the absorber takes its work from the journal, and removes
// the writes that it has moved from the window. The committer waits when the absorber's
// count of the window is full. The data that both change is in mvcc, base and
// commitlog, which do not import this package.
package commit

import (
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// Committer turns requests into versions. It is the only place where the
// database changes. Two stages overlap, and each handles versions in ascending
// order:
//
// The first stage decides which requests conflict and applies the writes of the
// others to the window. It adds requests to one batch, which has one version,
// while the second stage is busy with the batch before.
//
// The second stage makes a batch durable and publishes its view. Another
// goroutine then answers the requests.
//
// Rules of the locks:
//
//  1. decideMu guards the first stage: the fields from window to stale.
//  2. diskMu admits one goroutine to the second stage. It guards no field: it
//     orders appends to the log and publications of views.
//  3. Locks are taken in the order decideMu, diskMu. A goroutine that holds
//     decideMu may wait for diskMu. A goroutine that holds only diskMu never
//     waits for decideMu.
//  4. queue.Mutex is innermost: its holder takes no other lock of the committer.
//  5. A goroutine that fails to TryLock decideMu leaves its requests queued. In a
//     database in memory, the holder looks at the queue again after release. In a
//     durable one, Drive wakes the disk goroutine, which waits for decideMu.
//  6. A goroutine that fails to TryLock diskMu leaves the second stage to the
//     holder. So a holder calls wakeDisk after it has released diskMu.
//  7. The goroutine that waits for decideMu in advance sets hurry: the disk is
//     idle. The holder then releases decideMu as soon as the batch has a request.
type Committer struct {
	head    *mvcc.Head
	watches *watch.Table
	stats   Stats
	readers *reads.Pool

	// Of a durable database only.
	log       *commitlog.Log
	fault     *fault.Fault
	pressure  *pressure
	wake      chan struct{} // wakes the disk goroutine; nil: in memory
	answers   chan *batch   // batches with requests to answer
	quit      chan struct{}
	done      sync.WaitGroup
	answering sync.WaitGroup
	// unanswered counts the batches that entered the second stage.
	unanswered sync.WaitGroup

	queue struct {
		sync.Mutex
		requests []*request
		bytes    int64
		limit    int64 // of bytes; 0: none
		err      error // set when nothing may be committed any more
	}

	undecided atomic.Int64 // requests that are queued or taken
	fetching  atomic.Int64 // bytes of requests that wait for their inputs

	decideMu sync.Mutex  // see the rules of the locks
	hurry    atomic.Bool // a goroutine waits for decideMu, and the disk is idle
	window   *mvcc.Window
	resolver *mvcc.Resolver
	taken    []*request // from the queue, from next on to be decided
	next     int
	open     *batch // gathers requests; nil if there are none
	stale    bool   // the newest view can be replaced by one that is cheaper to read

	diskMu   sync.Mutex // see the rules of the locks
	batches  sync.Pool
	requests sync.Pool
}

// Options are the parts of a database that a committer works on. Log, Fault
// and QueueLimit are those of a durable one.
type Options struct {
	Head       *mvcc.Head
	Window     *mvcc.Window
	Watches    *watch.Table
	Readers    *reads.Pool
	Log        *commitlog.Log
	Fault      *fault.Fault
	QueueLimit int64 // bytes of requests that may wait; 0: no limit
}

// NewCommitter returns a committer. Start must follow for a durable database, unless
// nothing will be committed.
func NewCommitter(o Options) *Committer {
	c := &Committer{
		head: o.Head, window: o.Window, resolver: mvcc.NewResolver(o.Window), watches: o.Watches, readers: o.Readers, log: o.Log, fault: o.Fault,
	}
	c.queue.limit = o.QueueLimit
	o.Window.OnReport(c.tryAddVacancies)
	return c
}

// Stats returns the counters.
func (c *Committer) Stats() *Stats { return &c.stats }

// submit queues a request, which counts with what it makes. The committer commits it after a call of Drive, and
// answers through the request's Finisher.
func (c *Committer) submit(r *request) {
	c.queue.Lock()
	err := c.queue.err
	if err == nil {
		err = c.fault.Get()
	}
	if err == nil && c.queue.limit > 0 && len(c.queue.requests) > 0 && c.queue.bytes+r.weight() > c.queue.limit {
		err = c.tooMany(c.queue.bytes)
	}
	if err == nil {
		c.queue.requests = append(c.queue.requests, r)
		c.queue.bytes += r.weight()
		c.undecided.Add(1)
	}
	c.queue.Unlock()
	if err != nil {
		c.refuse(r, err)
	}
}

// refuse answers a request that is in no batch, and counts it.
func (c *Committer) refuse(r *request, err error) {
	c.stats.countFailure(err)
	r.Finisher.Finish(txn.Outcome{Err: err})
}

// tooMany returns the error of a request that is refused because so many bytes wait.
func (c *Committer) tooMany(bytes int64) error {
	return kv.NewError(kv.CodeCommitProxyMemoryLimitExceeded, "%d bytes of transactions wait for their commit already", bytes)
}

// Drive makes the committer commit the queued requests. For a database in memory
// the calling goroutine commits them. For a durable one it runs the first stage,
// unless another goroutine does, and the disk goroutine runs the second.
func (c *Committer) Drive() {
	if c.wake == nil {
		c.commitQueued()
		return
	}
	c.decideQueued()
	if c.diskMu.TryLock() { // else its holder wakes the disk goroutine: rule 6
		c.diskMu.Unlock()
		c.wakeDisk()
	}
}

// wakeDisk wakes the disk goroutine. In a database in memory it does nothing.
func (c *Committer) wakeDisk() {
	select {
	case c.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// decideQueued runs the first stage for the queued requests. It returns at once
// if another goroutine holds decideMu: rule 5.
func (c *Committer) decideQueued() {
	for c.hasPending() && c.decideMu.TryLock() {
		full, some := c.fillBatch()
		c.decideMu.Unlock()
		if full || !some {
			return
		}
	}
}

func (c *Committer) hasPending() bool { return c.undecided.Load() > 0 }

// fillBatch decides the queued requests into the open batch. It reports whether
// the batch is full, and whether it decided any request; neither if it stops for
// hurry. The caller holds decideMu.
func (c *Committer) fillBatch() (full, some bool) {
	for {
		for ; c.next < len(c.taken); c.next++ {
			if c.open == nil {
				c.open = c.newBatch()
			}
			if c.open.full() {
				return true, some
			}
			if c.hurry.Load() && len(c.open.requests) > 0 {
				return false, false
			}
			some = true
			c.decideRequest(c.open, c.taken[c.next])
			c.taken[c.next] = nil
			c.undecided.Add(-1)
		}
		if !c.takeQueued() {
			return false, some
		}
	}
}

// takeQueued takes the queued requests, and reports whether there were any. While
// the window is full it takes none, unless the database is being closed or its
// disk has failed.
func (c *Committer) takeQueued() bool {
	c.queue.Lock()
	defer c.queue.Unlock()
	if len(c.queue.requests) > 0 && c.pressure.full() && c.queue.err == nil && c.fault.Get() == nil {
		return false
	}
	c.queue.bytes = 0
	c.taken, c.queue.requests, c.next = c.queue.requests, c.taken[:0], 0
	return len(c.taken) > 0
}

// Start starts two goroutines. The disk goroutine runs the second stage, so that
// no caller waits for the disk. The other one answers requests, so that the disk
// does not wait for that. When the disk fails, the disk goroutine runs once more:
// requests may wait for room in the window, and no caller may call Drive for them.
func (c *Committer) Start() {
	c.wake, c.answers, c.quit = make(chan struct{}, 1), make(chan *batch, 8), make(chan struct{})
	c.done.Go(func() {
		raised := c.fault.Raised()
		for {
			select {
			case <-c.wake:
			case <-raised:
				raised = nil
			case <-c.quit:
				return
			}
			for c.advance(false) {
			}
		}
	})
	c.answering.Go(func() {
		for b := range c.answers {
			c.answerRequests(b)
			c.decideQueued() // requests that another goroutine left because of hurry
		}
	})
}

// commitQueued commits the queued requests, until there are none or another
// goroutine holds decideMu.
func (c *Committer) commitQueued() {
	for c.hasPending() && c.decideMu.TryLock() {
		c.advanceLocked(true)
	}
}

// Drain commits the queued requests and waits for the batch on its way to the disk.
func (c *Committer) Drain() {
	for c.advance(true) {
	}
	c.diskMu.Lock() // waits for its holder
	defer c.diskMu.Unlock()
}

// Refuse makes the committer refuse requests with err from now on.
func (c *Committer) Refuse(err error) {
	c.queue.Lock()
	defer c.queue.Unlock()
	c.queue.err = err
}

// Stop makes submit refuse requests with err from now on, and waits for the
// commits under way.
func (c *Committer) Stop(err error) {
	c.Refuse(err)
	c.Drain()
	if c.quit != nil {
		close(c.quit)
		c.done.Wait()
		c.unanswered.Wait()
		close(c.answers)
		c.answering.Wait()
	}
}

// advance runs the first stage for the queued requests, then the second. If
// another goroutine holds diskMu and wait is false, it leaves out the second. It
// reports whether it ran both.
func (c *Committer) advance(wait bool) bool {
	c.hurry.Store(true)
	c.decideMu.Lock()
	c.hurry.Store(false)
	return c.advanceLocked(wait)
}

// advanceLocked is advance for a caller that holds decideMu. It releases decideMu.
func (c *Committer) advanceLocked(wait bool) bool {
	full := false
	if c.open == nil || c.log == nil {
		full, _ = c.fillBatch()
	}
	b := c.closeBatch(wait || full)
	c.decideMu.Unlock()
	if b == nil {
		return false
	}
	c.commitBatch(b)
	c.diskMu.Unlock()
	defer c.unanswered.Done()
	if c.answers == nil {
		c.answerRequests(b)
		return true
	}
	c.answers <- b
	c.wakeDisk() // rule 6
	return true
}

// closeBatch ends the open batch and locks diskMu for it. It returns nil, without
// diskMu, if no batch is open, or if diskMu is held and wait is false. The caller
// holds decideMu.
func (c *Committer) closeBatch(wait bool) *batch {
	c.addReportedVacancies()
	if c.open == nil && !c.stale {
		return nil
	}
	if wait {
		c.diskMu.Lock()
	} else if !c.diskMu.TryLock() {
		return nil
	}
	if c.open == nil {
		c.refreshView()
		c.diskMu.Unlock()
		c.wakeDisk() // rule 6
		return nil
	}
	b := c.open
	c.open, c.stale = nil, false
	c.unanswered.Add(1)
	c.resolver.Sweep(c.window.OldestReader(b.version), mvcc.LeastSwept)
	c.sealBatch(b)
	return b
}

// refreshView gives the newest view the window's present entries and vacancies.
// No commit in the window waits for the disk. The caller holds both locks.
func (c *Committer) refreshView() {
	c.stale = false
	if c.fault.Get() == nil { // else the window may hold a commit that did not happen
		c.head.Refresh(c.window)
	}
}

// What follows lets tests of the packages above look at the committer between two
// decisions, and bring about moments that are rare.

// Inspect calls look while no request is decided.
func (c *Committer) Inspect(look func(*mvcc.Window, *mvcc.Resolver)) {
	defer c.Pause()()
	look(c.window, c.resolver)
}

// Pause keeps the first stage from deciding requests, which are queued, until resume is
// called.
func (c *Committer) Pause() (resume func()) {
	c.decideMu.Lock()
	return c.decideMu.Unlock
}

// PauseDisk keeps the second stage from running until resume is called: requests are
// decided, and gather in one batch.
func (c *Committer) PauseDisk() (resume func()) {
	c.diskMu.Lock()
	return func() {
		c.diskMu.Unlock()
		c.wakeDisk() // rule 6
	}
}

// Refresh replaces the newest view by one that is cheaper to read, if no commit is
// under way.
func (c *Committer) Refresh() {
	c.decideMu.Lock()
	c.stale = true
	c.releaseDecideMu()
}
