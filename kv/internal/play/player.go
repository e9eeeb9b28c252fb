// SPDX-License-Identifier: Apache-2.0

// Package play runs the steps of a scenario on an engine.
package play

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

const (
	stepTimeout = 30 * time.Second       // a step that takes longer hangs
	quietWait   = 50 * time.Millisecond  // how long a watch that must not fire is looked at, at most
	watchWait   = 15 * time.Millisecond  // how long an error may take to show in a new watch or stamp, if none is expected
	errorWait   = 10 * time.Second       // and if one is
	readWait    = 500 * time.Millisecond // how long a new watch may take to read its key
)

// Player is one run of a scenario.
type Player struct {
	ctx     context.Context
	db      kv.Database
	Slots   map[int]*Slot
	watches map[int]kv.Future[struct{}]
	Asked   map[int]kv.Future[[]byte]
	Known   scenario.Stamps
	Current []scenario.StampID // Stamps that the last read version of comparableRanges is the beginning of
	opened  []kv.Transaction
}

// Slot is one of the scenario's concurrent transactions.
type Slot struct {
	Tx      kv.Transaction
	commit  kv.Future[struct{}] // of commit_start
	stamp   kv.Future[[]byte]   // the replayer's own, to learn what the recording calls vs
	commits int                 // writing commits of this slot so far
	read    int64               // the last read version seen
}

// Run replays one scenario on an engine, where it
// replaces the keys below ff, and returns what differs.
func Run(ctx context.Context, db kv.Database, s *scenario.Scenario) ([]scenario.Difference, error) {
	r := NewPlayer(ctx, db)
	defer r.Close()
	if err := r.SetUp(s); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	var all []scenario.Difference
	for i := range s.Steps {
		if d, ok := r.check(i, &s.Steps[i]); !ok {
			all = append(all, d)
		}
	}
	r.Close()
	if d, ok := r.checkFinal(s); !ok {
		all = append(all, d)
	}
	return all, nil
}

func NewPlayer(ctx context.Context, db kv.Database) *Player {
	return &Player{
		ctx: ctx, db: db, Slots: map[int]*Slot{}, watches: map[int]kv.Future[struct{}]{},
		Asked: map[int]kv.Future[[]byte]{}, Known: scenario.Stamps{},
	}
}

// SetUp replaces everything below ff.
func (r *Player) SetUp(s *scenario.Scenario) error {
	pairs, err := scenario.ResolvePairs(s.Setup, nil)
	if err != nil {
		return err
	}
	return r.db.Transact(r.ctx, func(tx kv.Transaction) error {
		tx.ClearRange(model.UserKeys())
		for _, pair := range pairs {
			tx.Set(pair.Key, pair.Value)
		}
		return nil
	})
}

// check runs a step and compares its answer.
func (r *Player) check(i int, st *scenario.Step) (scenario.Difference, bool) {
	got := r.Run(st)
	want, err := scenario.ParseAnswer(st.Want, r.Known)
	if err != nil {
		return scenario.Difference{Step: i, Op: scenario.Describe(st, r.Known), Want: err.Error(), Got: got.Show(r.Known)}, false
	}
	if got.Equal(want) {
		return scenario.Difference{}, true
	}
	if or, err := scenario.ParseAnswer(st.Or, r.Known); st.Or != nil && err == nil && got.Equal(or) {
		return scenario.Difference{}, true
	}
	return scenario.Difference{Step: i, Op: scenario.Describe(st, r.Known), Want: want.Show(r.Known), Got: got.Show(r.Known)}, false
}

var ErrHangs = errors.New("the call did not come back")

func (r *Player) Run(st *scenario.Step) scenario.Answer {
	ctx, cancel := context.WithTimeoutCause(r.ctx, stepTimeout, ErrHangs)
	defer cancel()
	call, ok := Calls[st.Op]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("the replayer does not know the operation %q", st.Op))
	}
	s := r.Slots[st.Tx]
	if s == nil {
		s = &Slot{}
		r.Slots[st.Tx] = s
	}
	if s.Tx == nil && st.Op != "begin" && st.Op != "sleep" {
		return scenario.ErrorAnswer(fmt.Errorf("transaction %d was not begun", st.Tx))
	}
	return call(ctx, r, s, st)
}

// checkFinal compares everything below ff.
func (r *Player) checkFinal(s *scenario.Scenario) (scenario.Difference, bool) {
	const where = "final contents"
	want, err := scenario.ResolvePairs(s.Final, r.Known)
	if err != nil {
		return scenario.Difference{Step: -1, Op: where, Want: err.Error(), Got: "-"}, false
	}
	got, err := r.Contents()
	a, b := scenario.Answer{Kind: "kvs", KVs: want}, scenario.Answer{Kind: "kvs", KVs: got}.OrError(err)
	return scenario.Difference{Step: -1, Op: where, Want: a.Show(r.Known), Got: b.Show(r.Known)}, a.Equal(b)
}

// Contents are all pairs below ff.
func (r *Player) Contents() ([]kv.KeyValue, error) {
	return kv.ReadTransact(r.ctx, r.db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(model.UserKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(r.ctx)
	})
}

// Close gives up what the scenario left open.
func (r *Player) Close() {
	for _, w := range r.watches {
		w.Cancel()
	}
	for _, tx := range r.opened {
		tx.Cancel()
	}
}

// learn remembers the versionstamp of a commit that succeeded.
func (r *Player) learn(ctx context.Context, st *scenario.Step, s *Slot) {
	stamp, err := s.stamp.Get(ctx)
	if err != nil || len(stamp) == 0 {
		return // a read-only transaction has none
	}
	r.Known[scenario.StampID{Slot: st.Tx, N: s.commits}] = stamp
	s.commits++
}

// Pause waits for ready, at most so long.
func Pause(ctx context.Context, ready <-chan struct{}, atMost time.Duration) {
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

// advance makes the version grow by a commit that touches nothing, so that one
// that is a little ahead of the last commit can be read. A cluster that is idle
// would reach it two seconds later (MAX_COMMIT_BATCH_INTERVAL), and reads give up
// after one (FUTURE_VERSION_DELAY), with 1009.
func (r *Player) advance(ctx context.Context) error {
	return r.db.Transact(ctx, func(tx kv.Transaction) error {
		if err := tx.SetOption(kv.OptionAccessSystemKeys, 0); err != nil {
			return err
		}
		return tx.AddWriteConflictKey([]byte("\xff/kvtest/advance"))
	})
}

func (r *Player) LookAtWatch(ctx context.Context, st *scenario.Step, atMost time.Duration) scenario.Answer {
	future, ok := r.watches[st.ID]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("there is no watch %d", st.ID))
	}
	Pause(ctx, future.Done(), atMost)
	if !future.Ready() {
		return scenario.Answer{Kind: "fired"}
	}
	_, err := future.Get(ctx)
	return scenario.Answer{Kind: "fired", Flag: true}.OrError(err)
}

// errorWait is how long to look for an error of a new watch or stamp: until it comes, if
// the recording has one.
func (r *Player) errorWait(st *scenario.Step) time.Duration {
	if want, err := scenario.ParseAnswer(st.Want, r.Known); err == nil && want.Kind == "error" {
		return errorWait
	}
	return watchWait
}

// patience is how long to look at a future: as long as the recording did,
// shorter where nothing must happen.
func (r *Player) patience(st *scenario.Step, quiet scenario.Answer) time.Duration {
	wait := time.Duration(st.WaitMS) * time.Millisecond
	if want, err := scenario.ParseAnswer(st.Want, r.Known); err == nil && want.Equal(quiet) {
		return min(wait, quietWait)
	}
	return wait
}
