// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

const (
	stepTimeout = 30 * time.Second      // a step that takes longer hangs
	quietWait   = 50 * time.Millisecond // how long a watch that must not fire is looked at, at most
	watchWait   = 15 * time.Millisecond // how long an error may take to show in a new watch or stamp
)

// replay is one run of a scenario.
type replay struct {
	ctx     context.Context
	db      kv.Database
	slots   map[int]*slot
	watches map[int]kv.Future[struct{}]
	asked   map[int]kv.Future[[]byte]
	known   stamps
	current []stampID // stamps that the last read version of comparableRanges is the beginning of
	opened  []kv.Transaction
}

// slot is one of the scenario's concurrent transactions.
type slot struct {
	tx      kv.Transaction
	commit  kv.Future[struct{}] // of commit_start
	stamp   kv.Future[[]byte]   // the replayer's own, to learn what the recording calls vs
	commits int                 // writing commits of this slot so far
	read    int64               // the last read version seen
}

// runScenario replays one scenario on an engine whose keys below ff it
// replaces, and returns what differs.
func runScenario(ctx context.Context, db kv.Database, s *scenario) ([]difference, error) {
	r := newReplay(ctx, db)
	defer r.close()
	if err := r.setUp(s); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	var all []difference
	for i := range s.Steps {
		if d, ok := r.check(i, &s.Steps[i]); !ok {
			all = append(all, d)
		}
	}
	r.close()
	if d, ok := r.checkFinal(s); !ok {
		all = append(all, d)
	}
	return all, nil
}

func newReplay(ctx context.Context, db kv.Database) *replay {
	return &replay{
		ctx: ctx, db: db, slots: map[int]*slot{}, watches: map[int]kv.Future[struct{}]{},
		asked: map[int]kv.Future[[]byte]{}, known: stamps{},
	}
}

// setUp replaces everything below ff.
func (r *replay) setUp(s *scenario) error {
	pairs, err := resolvePairs(s.Setup, nil)
	if err != nil {
		return err
	}
	return r.db.Transact(r.ctx, func(tx kv.Transaction) error {
		tx.ClearRange(userKeys())
		for _, pair := range pairs {
			tx.Set(pair.Key, pair.Value)
		}
		return nil
	})
}

// check runs a step and compares its answer.
func (r *replay) check(i int, st *step) (difference, bool) {
	got := r.run(st)
	want, err := parseWant(st.Want, r.known)
	if err != nil {
		return difference{i, describe(st, r.known), err.Error(), got.show(r.known)}, false
	}
	if got.equal(want) {
		return difference{}, true
	}
	if or, err := parseWant(st.Or, r.known); st.Or != nil && err == nil && got.equal(or) {
		return difference{}, true
	}
	return difference{i, describe(st, r.known), want.show(r.known), got.show(r.known)}, false
}

var errHangs = errors.New("the call did not come back")

func (r *replay) run(st *step) answer {
	ctx, cancel := context.WithTimeoutCause(r.ctx, stepTimeout, errHangs)
	defer cancel()
	call, ok := calls[st.Op]
	if !ok {
		return done(fmt.Errorf("the replayer does not know the operation %q", st.Op))
	}
	s := r.slots[st.Tx]
	if s == nil {
		s = &slot{}
		r.slots[st.Tx] = s
	}
	if s.tx == nil && st.Op != "begin" && st.Op != "sleep" {
		return done(fmt.Errorf("transaction %d was not begun", st.Tx))
	}
	return call(ctx, r, s, st)
}

// checkFinal compares everything below ff.
func (r *replay) checkFinal(s *scenario) (difference, bool) {
	const where = "final contents"
	want, err := resolvePairs(s.Final, r.known)
	if err != nil {
		return difference{-1, where, err.Error(), "-"}, false
	}
	got, err := r.contents()
	a, b := answer{kind: "kvs", kvs: want}, answer{kind: "kvs", kvs: got}.orError(err)
	return difference{-1, where, a.show(r.known), b.show(r.known)}, a.equal(b)
}

// contents are all pairs below ff.
func (r *replay) contents() ([]kv.KeyValue, error) {
	return kv.ReadTransact(r.ctx, r.db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(userKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(r.ctx)
	})
}

// close gives up what the scenario left open.
func (r *replay) close() {
	for _, w := range r.watches {
		w.Cancel()
	}
	for _, tx := range r.opened {
		tx.Cancel()
	}
}

// learn remembers the versionstamp of a commit that succeeded.
func (r *replay) learn(ctx context.Context, st *step, s *slot) {
	stamp, err := s.stamp.Get(ctx)
	if err != nil || len(stamp) == 0 {
		return // a read-only transaction has none
	}
	r.known[stampID{st.Tx, s.commits}] = stamp
	s.commits++
}

// pause waits for ready, at most so long.
func pause(ctx context.Context, ready <-chan struct{}, atMost time.Duration) {
	if atMost <= 0 {
		return
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	case <-ctx.Done():
	}
}
