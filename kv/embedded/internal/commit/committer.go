// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/readers"
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
	readers *readers.Pool

	// Of a durable database only.
	log       *commitlog.Log
	fault     *fault.Fault
	pressure  *pressure
	wake      chan struct{} // wakes the disk goroutine; nil: in memory
	answers   chan *batch   // batches whose requests are to be answered
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
	fetching  atomic.Int64 // bytes of requests whose inputs are being fetched

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
	Readers    *readers.Pool
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
