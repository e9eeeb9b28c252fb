// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeset"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/readers"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/sample"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// committer turns requests into versions. It is the only place where the
// database changes, and everything here happens in the order of versions, in
// two stages that overlap:
//
// The first decides who conflicts and applies the writes of the others to the
// window. Requests gather in one batch, which has one version, for as long as
// the second stage is busy with the batch before.
//
// The second makes a batch durable, publishes its view, and answers.
type committer struct {
	head    *head
	watches *watch.Table
	stats   *stats
	readers *readers.Pool

	// Of a durable database only.
	base      *base.Base
	reports   *vacancyReports
	log       *commitlog.Log
	fault     *fault.Fault
	pressure  *pressure
	wake      chan struct{} // the disk has something to do
	answers   chan *batch   // what is published
	quit      chan struct{}
	done      sync.WaitGroup
	answering sync.WaitGroup
	leaving   sync.WaitGroup // batches between the stages and their answer

	queue struct {
		sync.Mutex
		requests []*commitRequest
		bytes    int64
		limit    int64 // of bytes; 0: none
		err      error // set when nothing may be committed any more
	}

	undecided atomic.Int64 // requests that are queued or taken
	fetching  atomic.Int64 // bytes of requests whose inputs are being fetched

	// working guards the first stage. In a hurry is who waits for it while the
	// disk is idle.
	working   sync.Mutex
	hurry     atomic.Bool
	window    *window
	resolver  *resolver
	taken     []*commitRequest // from the queue, from next on to be decided
	next      int
	open      *batch         // gathers requests; nil if there are none
	sample    *sample.Sample // of a database in memory; nil: the base has one
	metadata  []byte         // the value of kv.MetadataVersionKey after the batches so far
	forgotten int64          // the version up to which the window has been forgotten
	vacant    rangeset.Set
	stale     bool // the newest view can be replaced by one that is cheaper to read

	// finishing is held by the second stage. Its holder does not wait for
	// working, so that a holder of working may wait for it.
	finishing sync.Mutex
	batches   sync.Pool
}

// submit queues a request, which is answered through its attempt once someone
// calls help.
func (c *committer) submit(r *commitRequest) {
	c.queue.Lock()
	err := c.queue.err
	if err == nil {
		err = c.fault.Get()
	}
	if err == nil && c.queue.limit > 0 && len(c.queue.requests) > 0 && c.queue.bytes+r.Bytes > c.queue.limit {
		err = c.tooMany(c.queue.bytes)
	}
	if err == nil {
		c.queue.requests = append(c.queue.requests, r)
		c.queue.bytes += r.Bytes
		c.undecided.Add(1)
	}
	c.queue.Unlock()
	if err != nil {
		r.Finisher.Finish(txn.Outcome{Err: err})
	}
}

// tooMany counts a refused request and returns its error: so many bytes wait.
func (c *committer) tooMany(bytes int64) error {
	c.stats.refused.Add(1)
	return kv.NewError(kv.CodeCommitProxyMemoryLimitExceeded, "%d bytes of transactions wait for their commit already", bytes)
}

// help sees to it that what is queued is committed. Of a durable database it
// does the first stage's work itself, unless somebody is at it, and leaves the
// disk to the committer's goroutines.
func (c *committer) help() {
	if c.wake == nil {
		c.work()
		return
	}
	c.decideQueued()
	if c.finishing.TryLock() { // else who holds it will call when he is done
		c.finishing.Unlock()
		c.call()
	}
}

// call wakes one of the committer's goroutines.
func (c *committer) call() {
	select {
	case c.wake <- struct{}{}:
	default: // one has been called already
	}
}

// decideQueued takes what is queued through the first stage. Who finds somebody
// at it leaves that to him.
func (c *committer) decideQueued() {
	for c.pending() && c.working.TryLock() {
		full, some := c.admit()
		c.working.Unlock()
		if full || !some {
			return
		}
	}
}

func (c *committer) pending() bool { return c.undecided.Load() > 0 }

// admit takes what is queued through the first stage. It reports whether the
// open batch can take no more, and whether it took anything.
func (c *committer) admit() (full, some bool) {
	for {
		for ; c.next < len(c.taken); c.next++ {
			if c.open == nil {
				c.open = c.begin()
			}
			if c.open.full() {
				return true, some
			}
			if c.hurry.Load() && len(c.open.requests) > 0 {
				return false, false
			}
			some = true
			c.decide(c.open, c.taken[c.next])
			c.taken[c.next] = nil
			c.undecided.Add(-1)
		}
		if !c.take() {
			return false, some
		}
	}
}

// take takes the queued requests, and reports whether there were any. While the
// window is full it takes none, unless the database is being closed or its disk
// has failed.
func (c *committer) take() bool {
	c.queue.Lock()
	defer c.queue.Unlock()
	if len(c.queue.requests) > 0 && c.pressure.full() && c.queue.err == nil && c.fault.Get() == nil {
		return false
	}
	c.queue.bytes = 0
	c.taken, c.queue.requests, c.next = c.queue.requests, c.taken[:0], 0
	return len(c.taken) > 0
}
