// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

const (
	mostRepeats = 10              // of a program that met a late engine
	settling    = 2 * time.Second // of futures

	programTimeout = 20 * time.Second // a program that takes longer hangs
)

// duel runs programs on two engines.
type duel struct {
	ctx    context.Context
	sides  [2]kv.Database
	names  [2]string
	counts DifferentialCounts

	settling time.Duration // how long futures may take to agree
	loose    bool          // the last program left a commit that may still happen
}

// late are codes that an engine may answer with because time has passed, or too
// little of it: a watch that is cancelled may have fired just before. They are no
// difference unless they come every time.
var late = []kv.Code{
	kv.CodeTimedOut, kv.CodeTransactionTooOld, kv.CodeFutureVersion, kv.CodeCommitUnknownResult, kv.CodeProcessBehind,
	kv.CodeClusterVersionChanged, kv.CodeCommitProxyMemoryLimitExceeded, kv.CodeBatchTransactionThrottled,
	kv.CodeGRVProxyMemoryLimitExceeded, kv.CodeTagThrottled, kv.CodeProxyTagThrottled, kv.CodeOperationCancelled,
}

// awaitAge waits until both engines are so old that the oldest versions that
// programs set are versions: those of a cluster begin at 0.
func (d *duel) awaitAge() error {
	for i, db := range d.sides {
		for {
			version, err := kv.ReadTransact(d.ctx, db, func(tx kv.ReadTransaction) (int64, error) { return tx.GetReadVersion().Get(d.ctx) })
			if err != nil {
				return fmt.Errorf("%s: %w", d.names[i], err)
			}
			if version > oldest {
				break
			}
			pause(d.ctx, nil, 100*time.Millisecond)
		}
	}
	return nil
}

// fight runs a program on both engines and returns how they differ. It fills in
// the program's answers: those of the first engine.
func (d *duel) fight(s *scenario) (differences []difference, err error) {
	for range mostRepeats {
		r := round{duel: d}
		differences, err = r.run(s)
		if err != nil || !r.late {
			return differences, err
		}
		d.counts.Again++
	}
	return differences, nil
}

// round is one run of a program on both engines.
type round struct {
	*duel
	replays [2]*replay
	late    bool
}

func (r *round) run(s *scenario) ([]difference, error) {
	for i, db := range r.sides {
		ctx, cancel := context.WithTimeoutCause(r.ctx, programTimeout, errHangs)
		defer cancel()
		r.replays[i] = newReplay(ctx, db)
		defer r.replays[i].close()
		if err := r.replays[i].setUp(s); err != nil {
			return nil, fmt.Errorf("%s: setup: %w", r.names[i], err)
		}
	}
	var all []difference
	for i := range s.Steps {
		st := &s.Steps[i]
		answers := r.answers(st, len(all) == 0)
		st.Want = answers[0].wanted(r.replays[0].known)
		if len(all) > 0 {
			continue // what follows a difference follows from it; only what a answers matters now
		}
		if !r.alike(answers) && byClientsOwnKey(s.Steps[:i], st, answers) {
			s.Steps, r.loose = s.Steps[:i+1], true
			return nil, nil // one commit happened, the other did not
		}
		if !r.alike(answers) {
			all = append(all, r.difference(i, st, answers))
			continue
		}
		if st.Op == "commit_await" && answers[0].code == kv.CodeUsedDuringCommit {
			s.Steps, r.loose = s.Steps[:i+1], true
			return nil, nil // the commit may happen or not: the contents are no longer the same for certain
		}
	}
	r.replays[0].close()
	r.replays[1].close()
	answers := r.both(func(side *replay) answer {
		kvs, err := side.contents()
		return answer{kind: "kvs", kvs: kvs}.orError(err)
	})
	s.Final = pairsOf(answers[0].kvs, r.replays[0].known)
	if len(all) == 0 && !r.alike(answers) {
		all = append(all, r.difference(-1, nil, answers))
	}
	r.loose = false
	return all, nil
}

// both does the same on both sides at once.
func (r *round) both(do func(*replay) answer) (answers [2]answer) {
	var other sync.WaitGroup
	other.Go(func() { answers[1] = do(r.replays[1]) })
	answers[0] = do(r.replays[0])
	other.Wait()
	return answers
}

// answers runs a step on both sides. What becomes of futures is looked at until
// both say the same, or for a while, if that is of interest.
func (r *round) answers(st *step, settle bool) [2]answer {
	answers := r.both(func(side *replay) answer { return side.run(st) })
	again := looks[st.Op]
	if again == nil || !settle {
		return answers
	}
	for end := time.Now().Add(r.settling); !r.alike(answers) && time.Now().Before(end); {
		pause(r.ctx, nil, time.Millisecond)
		answers = r.both(func(side *replay) answer { return again(r.ctx, side, side.slots[st.Tx], st) })
	}
	return answers
}

// looks look again at what futures bring about. A watch adds its conflict range
// when it has read its key.
var looks = map[string]call{
	"get_approximate_size": getApproximateSize, "conflict_ranges": comparableRanges,
	"watch": lookAgain, "watch_state": lookAgain, "await_versionstamp": awaitVersionstamp,
	"get_versionstamp": func(ctx context.Context, r *replay, _ *slot, st *step) answer {
		return lookAtStamp(ctx, r.asked[st.ID])
	},
}

func lookAgain(ctx context.Context, r *replay, _ *slot, st *step) answer {
	return r.lookAtWatch(ctx, st, 0)
}

// alike reports whether two answers are the same but for the bytes of
// versionstamps.
func (r *round) alike(answers [2]answer) bool {
	a, b := answers[0].named(r.replays[0].known), answers[1].named(r.replays[1].known)
	if a.kind == "ranges" {
		either := slices.Concat(r.replays[0].current, r.replays[1].current)
		a, b = a.asLeast(either), b.asLeast(either)
	}
	return a.equal(b) || a.malformed() && b.malformed() && a.err.Error() == b.err.Error()
}

// malformed reports whether the step cannot be run, as happens when a program
// was made smaller.
func (a answer) malformed() bool {
	return a.kind == "error" && a.code == 0 && !errors.Is(a.err, errHangs)
}

func (r *round) difference(i int, st *step, answers [2]answer) difference {
	r.late, r.loose = r.loose, false
	for _, a := range answers { // how fast a commit is decides whether it was still under way
		r.late = r.late || slices.Contains(late, a.code) || st != nil && st.Op == "commit_await" && a.code == kv.CodeUsedDuringCommit
	}
	what := "final contents"
	if st != nil {
		what = describe(st, r.replays[0].known)
	}
	return difference{i, what, answers[0].show(r.replays[0].known), answers[1].show(r.replays[1].known)}
}
