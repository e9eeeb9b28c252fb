// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/play"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
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
	counts Counts

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
			play.Pause(d.ctx, nil, 100*time.Millisecond)
		}
	}
	return nil
}

// fight runs a program on both engines and returns how they differ. It fills in
// the program's answers: those of the first engine.
func (d *duel) fight(s *scenario.Scenario) (differences []scenario.Difference, err error) {
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
	replays [2]*play.Player
	late    bool
}

func (r *round) run(s *scenario.Scenario) ([]scenario.Difference, error) {
	for i, db := range r.sides {
		ctx, cancel := context.WithTimeoutCause(r.ctx, programTimeout, play.ErrHangs)
		defer cancel()
		r.replays[i] = play.NewPlayer(ctx, db)
		defer r.replays[i].Close()
		if err := r.replays[i].SetUp(s); err != nil {
			return nil, fmt.Errorf("%s: setup: %w", r.names[i], err)
		}
	}
	var all []scenario.Difference
	for i := range s.Steps {
		st := &s.Steps[i]
		answers := r.answers(st, len(all) == 0)
		st.Want = answers[0].Wanted(r.replays[0].Known)
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
		if st.Op == "commit_await" && answers[0].Code == kv.CodeUsedDuringCommit {
			s.Steps, r.loose = s.Steps[:i+1], true
			return nil, nil // the commit may happen or not: the contents are no longer the same for certain
		}
	}
	r.replays[0].Close()
	r.replays[1].Close()
	answers := r.both(func(side *play.Player) scenario.Answer {
		kvs, err := side.Contents()
		return scenario.Answer{Kind: "kvs", KVs: kvs}.OrError(err)
	})
	s.Final = scenario.PairsOf(answers[0].KVs, r.replays[0].Known)
	if len(all) == 0 && !r.alike(answers) {
		all = append(all, r.difference(-1, nil, answers))
	}
	r.loose = false
	return all, nil
}

// both does the same on both sides at once.
func (r *round) both(do func(*play.Player) scenario.Answer) (answers [2]scenario.Answer) {
	var other sync.WaitGroup
	other.Go(func() { answers[1] = do(r.replays[1]) })
	answers[0] = do(r.replays[0])
	other.Wait()
	return answers
}

// answers runs a step on both sides. What becomes of futures is looked at until
// both say the same, or for a while, if that is of interest.
func (r *round) answers(st *scenario.Step, settle bool) [2]scenario.Answer {
	answers := r.both(func(side *play.Player) scenario.Answer { return side.Run(st) })
	again := looks[st.Op]
	if again == nil || !settle {
		return answers
	}
	answers = r.settle(st, answers, again)
	if st.Op == "watch" && !isMalformed(answers[0]) { // until both have read its key: the next step may end that read, and then its conflict range is missing
		r.settle(st, r.look(st, play.GetApproximateSize), play.GetApproximateSize)
	}
	return answers
}

// settle looks again until both answers are the same, or for a while.
func (r *round) settle(st *scenario.Step, answers [2]scenario.Answer, again play.Call) [2]scenario.Answer {
	for end := time.Now().Add(r.settling); !r.alike(answers) && time.Now().Before(end); {
		play.Pause(r.ctx, nil, time.Millisecond)
		answers = r.look(st, again)
	}
	return answers
}

// look looks again at what a step has brought about.
func (r *round) look(st *scenario.Step, again play.Call) [2]scenario.Answer {
	return r.both(func(side *play.Player) scenario.Answer { return again(r.ctx, side, side.Slots[st.Tx], st) })
}

// looks look again at what futures bring about. A watch adds its conflict range
// when it has read its key.
var looks = map[string]play.Call{
	"get_approximate_size": play.GetApproximateSize, "conflict_ranges": comparableRanges,
	"watch": lookAgain, "watch_state": lookAgain, "await_versionstamp": play.AwaitVersionstamp,
	"get_versionstamp": func(ctx context.Context, r *play.Player, _ *play.Slot, st *scenario.Step) scenario.Answer {
		return play.LookAtStamp(ctx, r.Asked[st.ID])
	},
}

func lookAgain(ctx context.Context, r *play.Player, _ *play.Slot, st *scenario.Step) scenario.Answer {
	return r.LookAtWatch(ctx, st, 0)
}

// alike reports whether two answers are the same but for the bytes of
// versionstamps.
func (r *round) alike(answers [2]scenario.Answer) bool {
	a, b := answers[0].Named(r.replays[0].Known), answers[1].Named(r.replays[1].Known)
	if a.Kind == "ranges" {
		either := slices.Concat(r.replays[0].Current, r.replays[1].Current)
		a, b = a.AsLeast(either), b.AsLeast(either)
	}
	return a.Equal(b) || isMalformed(a) && isMalformed(b) && a.Err.Error() == b.Err.Error()
}

// isMalformed reports whether the step cannot be run, as happens when a program
// was made smaller.
func isMalformed(a scenario.Answer) bool {
	return a.Kind == "error" && a.Code == 0 && !errors.Is(a.Err, play.ErrHangs)
}

func (r *round) difference(i int, st *scenario.Step, answers [2]scenario.Answer) scenario.Difference {
	r.late, r.loose = r.loose, false
	for _, a := range answers { // how fast a commit is decides whether it was still under way
		r.late = r.late || slices.Contains(late, a.Code) || st != nil && st.Op == "commit_await" && a.Code == kv.CodeUsedDuringCommit
	}
	what := "final contents"
	if st != nil {
		what = scenario.Describe(st, r.replays[0].Known)
	}
	return scenario.Difference{Step: i, Op: what, Want: answers[0].Show(r.replays[0].Known), Got: answers[1].Show(r.replays[1].Known)}
}

// report makes the program small and prints it.
func (d *duel) report(program *scenario.Scenario, first []scenario.Difference) string {
	small := d.shrink(program, first[0].Shape())
	differences, err := d.fight(&small)
	note := ""
	if err != nil || len(differences) == 0 {
		small, differences, note = *program, first, "\nit did not happen again: the engines' answers depend on time"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (want) and %s (got) differ%s%s\nin:", program.Name, d.names[0], d.names[1], note, scenario.ShowDifferences(differences))
	for i := range small.Steps {
		fmt.Fprintf(&b, "\n\t%d %s", i, scenario.Describe(&small.Steps[i], nil))
	}
	line, err := json.Marshal(small)
	if err != nil {
		return b.String() + err.Error()
	}
	fmt.Fprintf(&b, "\n%s", line)
	return b.String()
}

// shrink returns a program as small as delta debugging makes it (Zeller and
// Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) that
// still differs in the same way: without one more of its steps, or of the pairs
// that it starts with, it does not.
func (d *duel) shrink(program *scenario.Scenario, shape string) scenario.Scenario {
	small := *program
	d.settling = settling / 8 // many will not agree
	defer func() { d.settling = settling }()
	differs := func(s scenario.Scenario) bool {
		if !awaitsCommits(s.Steps) {
			return false
		}
		s.Steps = slices.Clone(s.Steps) // fight fills in answers
		differences, err := d.fight(&s)
		return err == nil && len(differences) > 0 && differences[0].Shape() == shape
	}
	small.Steps = fewest(small.Steps, func(steps []scenario.Step) bool {
		s := small
		s.Steps = steps
		return differs(s)
	})
	small.Setup = fewest(small.Setup, func(setup []scenario.PairText) bool {
		s := small
		s.Setup = setup
		return differs(s)
	})
	return small
}

// awaitsCommits reports whether between the start of a commit and the waiting
// for it nothing happens but harmless calls of the same transaction. What else
// came of them would depend on how fast the commit is.
func awaitsCommits(steps []scenario.Step) bool {
	started := -1
	for _, st := range steps {
		switch {
		case started >= 0 && st.Tx != started:
			return false
		case st.Op == "commit_start":
			started = st.Tx
		case st.Op == "commit_await":
			started = -1
		case started >= 0 && slices.Contains([]string{"begin", "reset", "cancel", "commit", "on_error"}, st.Op):
			return false
		}
	}
	return started < 0
}

// fewest takes away parts, halves first and single ones last, as long as what is
// left still fails.
func fewest[T any](all []T, fails func([]T) bool) []T {
	for size := (len(all) + 1) / 2; size > 0; {
		removed := false
		for from := 0; from < len(all); {
			rest := slices.Concat(all[:from], all[min(from+size, len(all)):])
			if fails(rest) {
				all, removed = rest, true
				continue
			}
			from += size
		}
		switch {
		case size > 1:
			size = (size + 1) / 2
		case !removed:
			return all
		}
	}
	return all
}

// comparableRanges asks for the conflict ranges, and takes out what is particular
// to an engine: the read version, at which the range of a versionstamped key begins,
// and the system keys, of which selectors that run off the end may meet some.
func comparableRanges(ctx context.Context, r *play.Player, s *play.Slot, st *scenario.Step) scenario.Answer {
	a := play.ConflictRanges(ctx, r, s, st)
	if a.Kind == "error" {
		return a
	}
	version, err := s.Tx.GetReadVersion().Get(ctx)
	if err != nil {
		return a
	}
	first := binary.BigEndian.AppendUint64(nil, uint64(version))
	r.Current = nil
	least := append(bytes.Clone(first), 0, 0) // of the stamps that a key may get
	for id, stamp := range r.Known {
		if bytes.Equal(stamp, least) {
			r.Current = append(r.Current, id)
		}
	}
	a = a.With(func(b []byte) []byte {
		if bytes.HasPrefix(b, model.UserKeys().End) {
			return model.UserKeys().End
		}
		return bytes.ReplaceAll(b, first, scenario.ReadVersionName)
	})
	a.Read, a.Write = slices.DeleteFunc(a.Read, isEmpty), slices.DeleteFunc(a.Write, isEmpty)
	return a
}

func isEmpty(r kv.KeyRange) bool { return bytes.Equal(r.Begin, r.End) }

// byClientsOwnKey reports whether two answers to a commit may differ because
// FoundationDB's client gives a commit that has read nothing of what it writes
// a conflict range of its own, a random key after \xff/SC/ (Transaction::
// makeSelfConflicting). A transaction conflicts with all such commits if it has
// read past the end of all keys of users with read-your-writes disabled: the
// read conflicts as far as some system key. Which one depends on how many there
// are.
func byClientsOwnKey(before []scenario.Step, st *scenario.Step, answers [2]scenario.Answer) bool {
	if st.Op != "commit" && st.Op != "commit_await" || answers[1].Kind == "error" {
		return false
	}
	return answers[0].Code == kv.CodeNotCommitted && readsSystemKeys(before, st.Tx)
}

// readsSystemKeys reports whether a transaction may have read past the end of
// all keys of users with read-your-writes disabled.
func readsSystemKeys(steps []scenario.Step, tx int) (reads bool) {
	disabled := false
	for _, st := range steps {
		if st.Tx != tx {
			continue
		}
		switch st.Op {
		case "begin", "reset":
			disabled, reads = false, false
		case "set_option":
			disabled = disabled || st.Option == "read_your_writes_disable"
		case "get_key":
			reads = reads || disabled && !st.Snapshot && st.Offset > 1
		case "get_range":
			reads = reads || disabled && !st.Snapshot && max(st.Begin.Offset, st.End.Offset) > 1
		}
	}
	return reads
}
