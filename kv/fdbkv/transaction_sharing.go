// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// fewReaders is the number of functions of ReadTransact under way up to which
// each begins with a transaction of its own: sharing one makes its first read
// wait, and saves little. Tests change it before they open a database.
var fewReaders int64 = 8

// mostMembers is how many functions share a transaction at most: what they read is
// kept by the client until the last of them has ended.
const mostMembers = 1000

// group is a transaction of the client that several functions of ReadTransact
// read in, at one version. They gather first: until the group starts, their reads
// are queued. So the read version is asked for after all of them have begun, and
// each sees every commit that was acknowledged before it began. The transaction is
// freed when its version has arrived and the last function has left.
type group struct {
	*attempt // holds the read of the metadata version only
	db       *Database
	metadata *pendingResult[[]byte] // arrives with the read version; nil before the start

	mu      sync.Mutex
	weak    int64 // the version of the cache that it reads at; 0: it asks for one
	joined  int   // functions that have joined it, if it is weak; the mu of groups guards it
	started bool
	arrived bool       // metadata has its result
	members []*attempt // of functions that have joined it and not ended
}

// groups are those of a database: at most one that gathers, and one that waits
// for its read version. The former starts when the version of the latter
// has arrived.
type groups struct {
	few     int64        // see fewReaders
	readers atomic.Int64 // functions of ReadTransact under way

	mu        sync.Mutex // before that of a group
	gathering *group     // nil: no function has joined it
	asking    bool
	weak      *group // that weak reads join: it has started, and reads at a version of the cache
}

// addReader counts a function of ReadTransact, and removeReader its end. addReader
// reports whether the function is to share a transaction.
func (s *groups) addReader() (share bool) { return s.readers.Add(1) > s.few }
func (s *groups) removeReader()           { s.readers.Add(-1) }

// join returns the attempt of a new member of the group that gathers; nil: the group
// is full. Where no version is being asked for, the group starts.
func (s *groups) join(db *Database) (*attempt, error) {
	a, start, err := s.addMember(db)
	if start {
		a.group.start()
	}
	return a, err
}

func (s *groups) addMember(db *Database) (a *attempt, start bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gathering == nil {
		if s.gathering, err = newGroup(db); err != nil {
			return nil, false, err
		}
	}
	g := s.gathering
	if a = g.add(); a == nil {
		return nil, false, nil
	}
	if start = !s.asking; start {
		s.asking, s.gathering = true, nil
	}
	return a, start, nil
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

// joinWeak returns the attempt of a new member of the group that reads at a version of the cache.
func (s *groups) joinWeak(db *Database, version int64) (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.weak; g != nil && g.weak >= version && g.joined < mostMembers {
		g.joined++
		return g.add(), nil
	}
	g, err := newGroup(db)
	if err != nil {
		return nil, err
	}
	s.weak, g.joined = g, 1
	a := g.add() // before the start: a group without members ends when its version arrives
	g.startWeak(version)
	return a, nil
}

// forgetWeak has the next weak read begin a group.
func (s *groups) forgetWeak() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.weak = nil
}

func newGroup(db *Database) (*group, error) {
	h, err := db.createHandle(true)
	if err != nil {
		return nil, err
	}
	if err := db.load.set(h, true); err != nil {
		h.destroy(kv.CodeTransactionCancelled)
		return nil, err
	}
	g := &group{attempt: newAttempt(h, &db.versions), db: db}
	db.trackAttempt(g.attempt, true)
	return g, nil
}

// add returns the attempt of a new member; nil: the group is full.
func (g *group) add() *attempt {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.members) >= mostMembers {
		return nil
	}
	a := newAttempt(g.handle, nil)
	a.group, a.place = g, len(g.members)
	g.members = append(g.members, a)
	return a
}

// leave removes a member. Without members, a group that gathers is given up, and one
// that has its version ends.
func (g *group) leave(a *attempt) {
	g.db.groups.mu.Lock()
	defer g.db.groups.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.place < 0 {
		return
	}
	last := g.members[len(g.members)-1]
	g.members[a.place], last.place = last, a.place
	g.members[len(g.members)-1] = nil
	g.members, a.place = g.members[:len(g.members)-1], -1
	if len(g.members) == 0 && g.db.groups.weak == g {
		g.db.groups.weak = nil
	}
	switch gathers := g.db.groups.gathering == g; {
	case len(g.members) > 0:
	case gathers:
		g.db.groups.gathering = nil
		g.end()
	case g.arrived:
		g.end()
	}
}

// end frees the group's transaction.
func (g *group) end() {
	g.db.untrack(g.futures)
	g.destroy(kv.CodeTransactionCancelled)
	g.release()
}

// start asks for the read version, by the read of the metadata version, and
// issues the reads that were queued. No function joins the group any more.
func (g *group) start() {
	g.version.once.Do(g.askVersion)
	c := g.get([]byte(kv.MetadataVersionKey), true)
	g.metadata = newPendingResult(g.attempt, keptFuture{c: c}, noRead, "Get", takeValue)
	g.mu.Lock()
	members := slices.Clone(g.members)
	g.started = true
	g.mu.Unlock()
	for _, a := range members {
		for _, q := range a.futures.takeQueued() {
			q.issue()
		}
	}
	callBack(c, arrival{g})
}

// startWeak starts a group at a version of the cache. Functions may join it until it ends.
func (g *group) startWeak(version int64) {
	g.version.set()
	g.version.weak, g.weak = version, version
	g.setReadVersion(version)
	g.start()
}

// arrival is the arrival of a group's read version.
type arrival struct{ *group }

// ready implements [waiter].
func (a arrival) ready() { go a.deliverMetadata() }

func (g *group) deliverMetadata() {
	_ = g.noteVersion(withVersion)
	if g.weak == 0 {
		g.db.groups.startNext()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arrived = true
	for _, a := range g.members {
		for _, p := range a.futures.takePromised() {
			p.Resolve(g.metadataVersion())
		}
	}
	if len(g.members) == 0 {
		g.end()
	}
}

// metadataVersion returns the metadata version, which has arrived.
func (g *group) metadataVersion() ([]byte, error) {
	value, err := g.metadata.Result()
	return bytes.Clone(value), err
}

// enqueue issues a member's read, when the group has started.
func (g *group) enqueue(a *attempt, q queuedRead) {
	if queued, closed := g.queueUntilStart(a, q); closed != nil {
		q.fail(closed)
	} else if !queued {
		q.issue()
	}
}

func (g *group) queueUntilStart(a *attempt, q queuedRead) (queued bool, closed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started {
		return false, nil
	}
	return true, a.futures.queue(q)
}

// awaitMetadata has a member's promise resolved to the metadata version. It reports
// false if that has arrived.
func (g *group) awaitMetadata(a *attempt, p *kv.Promise[[]byte]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.arrived {
		return false
	}
	if closed := a.futures.promise(p); closed != nil {
		p.Resolve(nil, closed)
	}
	return true
}

// membership is the part of a transaction that may read in a group's transaction of
// the client. It joins the group by its first read. It gets a transaction of the
// client for itself by the first call that is not a read: that one reads at the
// group's version, if the transaction has joined it, and has made the same reads.
// So a program sees no difference. The second attempt of a
// retry loop shares nothing.
type membership struct {
	mu     sync.Mutex // held while shared is joined, and while ownAttempt waits
	shared atomic.Pointer[attempt]
	reads  []sharedRead // those made in the group
}

// sharedRead is a read that was made in a group, as a snapshot read.
type sharedRead struct {
	call     func(h *handle, snapshot bool) *cFuture
	snapshot bool // it was asked for so
	alone    bool // all reads before it had been taken
}

// attemptForRead returns the attempt in which to read.
func (t *transaction) attemptForRead() (*attempt, error) {
	if err := t.endError(); err != nil {
		return nil, err
	}
	if a := t.current.Load(); a != nil {
		t.fix(a)
		return a, nil
	}
	if a := t.shared.Load(); a != nil {
		return a, nil
	}
	a, err := t.joinGroup()
	if err == nil && a.group == nil {
		t.fix(a)
	}
	return a, err
}

// joinGroup has the transaction read in the group that gathers; if that is full, in a
// transaction of its own.
func (t *transaction) joinGroup() (*attempt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range []*attempt{t.current.Load(), t.shared.Load()} {
		if a != nil {
			return a, nil
		}
	}
	a, err := t.join()
	if err != nil {
		return nil, err
	}
	if a == nil {
		return t.beginOwnLocked(nil)
	}
	t.db.trackAttempt(a, t.scoped)
	t.shared.Store(a)
	if t.over.Load() {
		t.releaseLocked()
	}
	return a, nil
}

// join returns the attempt of a member of a group; nil: the transaction is to read in one of its own.
func (t *transaction) join() (*attempt, error) {
	version, weak := t.weakVersion(false)
	switch {
	case !t.share:
		return nil, nil
	case weak:
		return t.db.groups.joinWeak(t.db, version)
	case t.asked.AtLeast > 0:
		return nil, nil
	}
	return t.db.groups.join(t.db)
}

// ownAttempt returns the attempt that the transaction has for itself, which may have
// to be made first. Then ownAttempt waits for the read version of the group. The end of
// the retry loop's context and Close end that.
func (t *transaction) ownAttempt() (*attempt, error) {
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	return t.beginOwnLocked(t.shared.Load())
}

// beginOwnLocked begins the transaction's own attempt, with the reads that were made in
// shared; nil: there are none to repeat. t.mu is held.
func (t *transaction) beginOwnLocked(shared *attempt) (*attempt, error) {
	if t.over.Load() {
		return nil, errEnded
	}
	h, err := t.db.createHandle(t.scoped)
	if err != nil {
		return nil, err
	}
	if shared != nil {
		if err := shared.repeatReads(h, t.reads); err != nil {
			h.destroy(kv.CodeTransactionCancelled)
			return nil, err
		}
	}
	t.reads = nil
	a := newAttempt(h, t.versions)
	if shared != nil {
		a.version.set()
	}
	t.beginAttempt(a)
	if t.over.Load() {
		t.releaseLocked()
	}
	return a, nil
}

// detachFromGroup returns the transaction's own attempt for a call that forgets or
// ends all reads so far: it gives up the reads in the group, and does not wait for
// the group's version.
func (t *transaction) detachFromGroup() (*attempt, error) {
	if shared := t.shared.Load(); shared != nil {
		shared.giveUpReads()
	}
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a, nil
	}
	return t.beginOwnLocked(nil)
}

// isRefusal reports whether a read ended with an error that it has had before, since
// it cannot be made. It adds no conflict then.
func isRefusal(err error) bool {
	code := kv.CodeOf(err)
	return code != 0 && !isCancellation(code) && !kv.IsRetryable(err)
}

// recordRead notes a read for ownAttempt to repeat, and returns nil. It returns the
// transaction's own attempt instead if there is one by now.
func (t *transaction) recordRead(read sharedRead) *attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.current.Load(); a != nil {
		return a
	}
	read.alone = !t.shared.Load().futures.hasOutstanding()
	t.reads = append(t.reads, read)
	return nil
}
