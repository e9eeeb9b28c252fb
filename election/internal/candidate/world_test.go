// SPDX-License-Identifier: Apache-2.0

package candidate_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

// The times of a simulated election.
const (
	lease   = time.Second
	window  = 150 * time.Millisecond // half of the election timeout
	leg     = 5 * time.Millisecond   // the longest way of a message or a watch, one way
	faults  = 3                      // that one transaction suffers at most
	backoff = 10 * time.Millisecond  // the longest before an attempt
	// slack is for what a vacancy waits for in addition to timers: the watch that tells of the last
	// renewal, or one that is lost and replaced by a look; that look, the claim before
	// this one, which was refused, and the claim.
	slack = lease/3 + leg + 4*(faults+1)*(2*leg+backoff)
)

// mutation is a fault that is put into the simulation, to show that its oracle can fail.
type mutation int

const (
	none          mutation = iota
	noFence                // leaders do not check the fence
	countFromEnd           // leadership is counted from the reply, not from before the claim
	takeoverEarly          // a lease is taken over when half of it has passed
	lostWatches            // candidates are not told of a watch that has failed
)

// event is something that happens at a time.
type event struct {
	at  time.Duration
	seq uint64
	of  *node // which must be up for it; nil: the database
	gen int   // of the node
	do  func()
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}

// world is one run of the simulation: a database, nodes with a clock each, and faults. It is
// single-threaded, and the same seed gives the same run.
type world struct {
	rng   *rand.Rand
	now   time.Duration // true time
	seq   uint64
	queue queue
	store store
	nodes []*node
	// exact: clocks run at one rate and no clock stands still or jumps; then two never
	// believe to lead.
	exact    bool
	mutation mutation

	watchers []watcher
	standbys map[*node]time.Duration // by the time of the latest registration

	stableSince time.Duration // since when the name was not claimed, renewed or released
	elections   int
	logged      int64         // the last rank in the log
	longest     time.Duration // of the vacancies that were bounded
	bounded     int           // how many of them
	counts      counts
	violation   error
}

// counts is what has happened.
type counts struct{ crashes, pauses, jumps, lost, expired, conflicts, recoveries, refused, takeovers int }

// watcher is a watch that is armed.
type watcher struct {
	of       *node
	campaign int
	renewal  bool // of the renewal key; else of the fence key
}

func newWorld(seed uint64, m mutation) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 0)), exact: seed%2 == 0, mutation: m,
		standbys: map[*node]time.Duration{},
	}
	for i := range 3 + w.rng.IntN(3) {
		n := &node{world: w, name: fmt.Sprint("node ", i), rate: 1, priority: w.rng.IntN(2)}
		if !w.exact {
			n.rate = 0.8 + 0.4*w.rng.Float64()
		}
		w.nodes = append(w.nodes, n)
		w.after(w.between(0, lease), n, n.start)
		w.after(w.between(2*lease, 30*lease), nil, n.disturb)
	}
	w.after(w.between(10*lease, 60*lease), nil, w.recover)
	return w
}

// between draws a time.
func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rng.Int64N(int64(most-least)+1))
}

// after has something happen. What a node does happens when it is up, and not at all
// if it has crashed since.
func (w *world) after(d time.Duration, of *node, do func()) {
	w.seq++
	e := event{at: w.now + d, seq: w.seq, of: of, do: do}
	if of != nil {
		e.gen = of.gen
	}
	heap.Push(&w.queue, e)
}

// run runs until there were so many elections, or one violates a promise.
func (w *world) run(elections int) error {
	for w.elections < elections && w.violation == nil {
		e := heap.Pop(&w.queue).(event)
		w.now = max(w.now, e.at)
		switch n := e.of; {
		case n == nil:
			e.do()
		case n.gen != e.gen:
		case n.paused > w.now:
			e.at = n.paused
			w.seq++
			e.seq = w.seq
			heap.Push(&w.queue, e)
		default:
			e.do()
			n.pump()
		}
		w.checkLiveness()
	}
	return w.violation
}

func (w *world) violate(format string, args ...any) {
	if w.violation == nil {
		w.violation = fmt.Errorf("at %v, election %d: %s", w.now, w.elections, fmt.Sprintf(format, args...))
	}
}

// recover is a recovery of the cluster: versions jump by 100 s, so that every transaction under
// way is too old or gets no answer, and every watch fires.
func (w *world) recover() {
	w.counts.recoveries++
	w.store.version += 100_000_000
	w.fire(true)
	w.fire(false)
	w.after(w.between(10*lease, 60*lease), nil, w.recover)
}

// fire fires the watches of a key. Now and then one fails.
func (w *world) fire(renewal bool) {
	kept := w.watchers[:0]
	for _, watch := range w.watchers {
		if watch.renewal != renewal {
			kept = append(kept, watch)
		} else if n := watch.of; watch.campaign == n.campaign {
			w.after(w.between(0, leg), n, func() { n.fired(watch.campaign) })
		}
	}
	w.watchers = kept
}

// bound is how long the longest vacancy may last, by true time: since the last renewal.
func (w *world) bound() time.Duration {
	timers := float64(lease + 2*window)
	if !w.exact {
		timers /= 0.8
	}
	return time.Duration(timers) + slack
}

// checkLiveness checks that a vacancy does not last longer than the bound while a node
// has been up and campaigning all the time.
func (w *world) checkLiveness() {
	if w.now-w.stableSince > w.bound() && w.witness() {
		w.violate("there is no leader since %v, although a candidate was up all the time", w.stableSince)
	}
}

// witness reports whether a node was up and campaigning since the name was last
// renewed or given back.
func (w *world) witness() bool {
	for _, n := range w.nodes {
		if n.paused <= w.now && n.readySince > 0 && n.readySince <= w.stableSince {
			return true
		}
	}
	return false
}
