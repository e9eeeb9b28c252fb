// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"math"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// commitRequest is a transaction on its way to the committer.
type commitRequest struct {
	version   int64 // the read version
	reads     []kv.KeyRange
	writes    []kv.KeyRange
	mutations []mutation
	bytes     int64 // in memory, about
	watches   []*watch
	attempt   *attempt // is told of the outcome
}

// outcome is what became of a commitRequest.
type outcome struct {
	version int64
	index   uint16
	err     error
}

// committer turns requests into versions, one batch at a time: it decides who
// conflicts, applies the writes of the others to the window, makes them
// durable, and publishes the new view. What happens here happens in the order
// of versions; it is the only place where the database changes.
type committer struct {
	head     *head
	window   *window
	resolver *resolver
	watches  *watchTable

	// Of a durable database only.
	base     *base
	log      *log
	fault    *fault
	pressure *pressure
	floor    int64         // what has read below it cannot be judged any more
	wake     chan struct{} // there are requests
	quit     chan struct{}
	done     chan struct{}

	queue struct {
		sync.Mutex
		requests []*commitRequest
		bytes    int64
		limit    int64 // of bytes; 0: none
		err      error // set when nothing may be committed any more
	}
	working sync.Mutex // held by whoever commits
	spare   []*commitRequest
	changes []mutation // of the batch, resolved to sets and clears
	results []outcome
}

// submit queues a request, which is answered through its attempt once someone
// calls help.
func (c *committer) submit(r *commitRequest) {
	c.queue.Lock()
	err := c.queue.err
	if err == nil {
		err = c.fault.get()
	}
	if err == nil && c.queue.limit > 0 && len(c.queue.requests) > 0 && c.queue.bytes+r.bytes > c.queue.limit {
		err = kv.NewError(kv.CodeProxyMemoryLimitExceeded, "%d bytes of transactions wait for their commit already", c.queue.bytes)
	}
	if err == nil {
		c.queue.requests = append(c.queue.requests, r)
		c.queue.bytes += r.bytes
	}
	c.queue.Unlock()
	if err != nil {
		r.attempt.finish(outcome{err: err})
	}
}

// help commits what is queued unless someone else is at it, who will then see
// the request that was just queued.
func (c *committer) help() {
	if c.wake == nil {
		c.work()
		return
	}
	select {
	case c.wake <- struct{}{}:
	default: // it has been called already
	}
}

// start makes a goroutine of its own commit, and help only call it: whoever
// commits waits for the disk meanwhile, which no caller should have to.
func (c *committer) start() {
	c.wake, c.quit, c.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.done)
		for {
			select {
			case <-c.wake:
				c.settle() // not work: the absorber may be at it, who does not commit
			case <-c.quit:
				return
			}
		}
	}()
}

// settle commits what is queued, waiting for whoever is at it.
func (c *committer) settle() {
	c.working.Lock()
	defer c.working.Unlock()
	for c.commitBatch() {
	}
}

// work commits what is queued, until nothing is or someone else is at it.
func (c *committer) work() {
	for c.pending() && c.working.TryLock() {
		for c.commitBatch() {
		}
		c.working.Unlock()
	}
}

func (c *committer) pending() bool {
	c.queue.Lock()
	defer c.queue.Unlock()
	return len(c.queue.requests) > 0
}

// recordBytes is the most that one record of the log is to hold. It may hold
// more by one transaction.
const recordBytes = 32 << 20

// take returns what is queued, at most as many as one version can tell apart.
// While the window is full it takes nothing, unless the database is closed.
func (c *committer) take() []*commitRequest {
	c.queue.Lock()
	defer c.queue.Unlock()
	if len(c.queue.requests) > 0 && c.pressure.full() && c.queue.err == nil {
		return nil
	}
	batch := c.queue.requests
	n := c.fitting(batch)
	for _, r := range batch[:n] {
		c.queue.bytes -= r.bytes
	}
	if n == len(batch) {
		c.queue.requests = c.spare[:0]
		c.spare = nil
		return batch
	}
	c.queue.requests = append([]*commitRequest(nil), batch[n:]...)
	return batch[:n]
}

// fitting returns how many of the requests fit into one version.
func (c *committer) fitting(requests []*commitRequest) int {
	most := min(len(requests), math.MaxUint16)
	if c.log == nil {
		return most
	}
	for n, size := 0, int64(0); n < most; n++ {
		if size > recordBytes {
			return n
		}
		size += requests[n].size(nil)
	}
	return most
}

// commitBatch commits what is queued and reports whether there was anything.
func (c *committer) commitBatch() bool {
	batch := c.take()
	if len(batch) == 0 {
		return false
	}
	if err := c.fault.get(); err != nil {
		c.refuse(batch, err)
		return true
	}
	version := c.head.assign()
	accepted := c.decide(batch, version)
	if accepted > 0 && c.persist(version) {
		c.publish(version)
	} else {
		c.head.abandon()
	}
	c.resolver.sweep(max(version-windowVersions, c.floor), 4*len(batch)+16)
	c.answer(batch)
	return true
}

// decide says who conflicts, and applies the writes of the others.
func (c *committer) decide(batch []*commitRequest, version int64) (accepted uint16) {
	c.changes, c.results = c.changes[:0], c.results[:0]
	for _, r := range batch {
		result := outcome{version: version, index: accepted, err: c.judge(r, version)}
		if result.err == nil {
			result.err = c.learn(r)
		}
		if result.err == nil {
			c.resolver.add(r.writes, version)
			c.apply(r, version, versionstamp(version, accepted))
			accepted++
		}
		c.results = append(c.results, result)
	}
	return accepted
}

// refuse answers a batch that cannot be committed any more.
func (c *committer) refuse(batch []*commitRequest, err error) {
	c.results = c.results[:0]
	for range batch {
		c.results = append(c.results, outcome{err: err})
	}
	c.answer(batch)
}

// stop lets nothing be committed any more, with that error, and waits for the
// commits under way.
func (c *committer) stop(err error) {
	c.queue.Lock()
	c.queue.err = err
	c.queue.Unlock()
	c.settle()
	if c.quit != nil {
		close(c.quit)
		<-c.done
	}
}

// judge returns why r cannot be committed, or nil.
func (c *committer) judge(r *commitRequest, version int64) error {
	switch {
	case r.version < max(version-windowVersions, c.floor):
		return tooOld(r.version)
	case c.resolver.conflicts(r.reads, r.version):
		return errConflict
	}
	return nil
}

var errConflict = kv.NewError(kv.CodeNotCommitted, "something that the transaction read was written since")

// publish makes the window's present state the newest view.
func (c *committer) publish(version int64) {
	v := &view{version: version, entries: c.window.entries.snapshot(), base: c.base, metadata: c.head.now.Load().metadata}
	if slices.ContainsFunc(c.changes, func(m mutation) bool { return m.covers(metadataKey) }) {
		v.metadata = v.inWindow(metadataKey)
	}
	c.head.publish(v)
	c.watches.changed(v, c.changes)
}

// answer tells the batch what became of it.
func (c *committer) answer(batch []*commitRequest) {
	for i, r := range batch {
		if c.results[i].err == nil {
			c.watches.arm(c.head.now.Load(), r.watches)
		}
		r.attempt.finish(c.results[i])
		batch[i] = nil
	}
	c.spare = batch
}

// apply writes the mutations of r to the window.
func (c *committer) apply(r *commitRequest, version int64, stamp []byte) {
	for i := range r.mutations {
		m := c.resolve(&r.mutations[i], stamp)
		if r.mutations[i].op == kv.SetVersionstampedKey {
			c.resolver.add([]kv.KeyRange{singleKey(m.key)}, version)
		}
		c.changes = append(c.changes, m)
		c.window.apply(&m, version)
	}
}

// resolve turns an atomic operation into the set or clear that it comes to.
func (c *committer) resolve(m *mutation, stamp []byte) mutation {
	switch m.op {
	case opSet, opClearRange:
		return *m
	case kv.SetVersionstampedKey:
		return mutation{op: opSet, key: stamped(m.key, stamp), value: m.value}
	case kv.SetVersionstampedValue:
		return mutation{op: opSet, key: m.key, value: stamped(m.value, stamp)}
	}
	return mutation{op: opSet, key: m.key, value: applyAtomic(m.op, c.current(m.key), m.value)}
}

// current returns the value of key as the batch has left it so far. Where the
// window does not know it, learn has told it.
func (c *committer) current(key []byte) []byte {
	value, _ := lookUp(&c.window.entries, key)
	return value
}

// covers reports whether the mutation writes key.
func (m *mutation) covers(key []byte) bool {
	if m.op == opClearRange {
		return bytes.Compare(m.key, key) <= 0 && bytes.Compare(key, m.value) < 0
	}
	return bytes.Equal(m.key, key)
}
