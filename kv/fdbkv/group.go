// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// fewReaders is the number of functions of ReadTransact under way up to which
// each begins with a transaction of its own: sharing one makes its first read
// wait, and saves little. Tests change it before they open a database.
var fewReaders int64 = 8

// group is a transaction of the client that several functions of ReadTransact
// read in, at one version. They gather first: until the group starts, its reads
// are queued. So the read version is asked for after all of them have begun, and
// each sees every commit that was acknowledged before it began.
type group struct {
	*attempt                        // holds the read of the metadata version only
	all      *groups                // that the group belongs to
	metadata *pendingResult[[]byte] // arrives with the read version; nil before the start

	mu      sync.Mutex
	started bool
	queue   []queuedRead
	arrived bool // metadata has its result
	waiting []*kv.Promise[[]byte]
}

// groups are those of a database: at most one that gathers, and one whose read
// version is being asked for. The former starts when the version of the latter
// has arrived.
type groups struct {
	few     int64        // see fewReaders
	readers atomic.Int64 // functions of ReadTransact under way

	mu        sync.Mutex
	gathering *group // nil: no function has joined it
	asking    bool
}

// addReader counts a function of ReadTransact, and removeReader its end. addReader
// reports whether the function is to share a transaction.
func (s *groups) addReader() (share bool) { return s.readers.Add(1) > s.few }
func (s *groups) removeReader()           { s.readers.Add(-1) }

// joinGathering returns the group that gathers. Where no version is being asked for, it
// starts.
func (s *groups) joinGathering(db *Database) (*group, error) {
	g, start, err := s.findGathering(db)
	if start {
		g.start()
	}
	return g, err
}

func (s *groups) findGathering(db *Database) (g *group, start bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gathering == nil {
		if s.gathering, err = newGroup(db); err != nil {
			return nil, false, err
		}
	}
	g = s.gathering
	if start = !s.asking; start {
		s.asking, s.gathering = true, nil
	}
	return g, start, nil
}

// startNext starts the group that gathers.
func (s *groups) startNext() {
	s.mu.Lock()
	g := s.gathering
	s.asking, s.gathering = g != nil, nil
	s.mu.Unlock()
	if g != nil {
		g.start()
	}
}

func newGroup(db *Database) (*group, error) {
	tr, err := db.createTransaction()
	if err != nil {
		return nil, err
	}
	g := &group{attempt: newAttempt(handleOf(tr), tr, nil), all: &db.groups}
	db.trackAttempt(g.attempt)
	return g, nil
}

// start asks for the read version, by the read of the metadata version, and
// issues the reads that were queued. No function joins the group any more.
func (g *group) start() {
	c := g.get([]byte(kv.MetadataVersionKey), true)
	g.metadata = newPendingResult(g.attempt, keptFuture{c: c}, "Get", takeValue)
	g.mu.Lock()
	queue := g.queue
	g.started, g.queue = true, nil
	g.mu.Unlock()
	for _, q := range queue {
		q.issue()
	}
	callBack(c, arrival{g})
}

// arrival is the arrival of a group's read version.
type arrival struct{ *group }

// ready implements [waiter].
func (a arrival) ready() { go a.deliverMetadata() }

func (g *group) deliverMetadata() {
	g.all.startNext()
	g.mu.Lock()
	g.arrived = true
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, p := range waiting {
		p.Resolve(g.metadataVersion())
	}
}

// metadataVersion returns the metadata version, which has arrived.
func (g *group) metadataVersion() ([]byte, error) {
	value, err := g.metadata.Result()
	return bytes.Clone(value), err
}

// enqueue issues a read, when the group has started.
func (g *group) enqueue(q queuedRead) {
	g.mu.Lock()
	started := g.started
	if !started {
		g.queue = append(g.queue, q)
	}
	g.mu.Unlock()
	if started {
		q.issue()
	}
}

// awaitMetadata has a promise resolved to the metadata version. It reports false if that
// has arrived.
func (g *group) awaitMetadata(p *kv.Promise[[]byte]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.arrived {
		g.waiting = append(g.waiting, p)
	}
	return !g.arrived
}
