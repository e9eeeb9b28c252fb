// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, enginetest.Leaks()...) }

var ctx = context.Background()

const (
	lease  = 10 * time.Second
	window = 2 * time.Second
)

// short are the options of a candidate of the tests in virtual time.
func short(owner string) election.Options {
	return election.Options{Candidate: owner, Duration: lease, ElectionTimeout: window}
}

// inVirtualTime runs a test on the engine as it is and on the hostile one, where waiting
// takes no time.
func inVirtualTime(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, enginetest.InProcess(t)) })
	})
	t.Run("hostile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, faults.HostileT(t, enginetest.InProcess(t))) })
	})
}

func newElection(t testing.TB, db kv.Database, o election.Options) *election.Election {
	t.Helper()
	e, err := election.New(db, "job", o)
	check(t, err)
	return e
}

// event is what a candidate tells.
type event struct {
	who  string
	term election.Term
	at   time.Time
	ctx  context.Context // of the term
}

// process is a candidate that runs.
type process struct {
	*election.Election
	name  string
	kill  context.CancelCauseFunc
	ended chan error // of Run
}

var errKilled = errors.New("the process was killed")

// start runs a candidate that leads until its context ends and tells of its terms.
func start(t testing.TB, db kv.Database, o election.Options, terms chan<- event) *process {
	t.Helper()
	return startOf(t, newElection(t, db, o), o.Candidate, terms)
}

// startOf is start for a candidate of any election.
func startOf(t testing.TB, e *election.Election, name string, terms chan<- event) *process {
	t.Helper()
	p := &process{Election: e, name: name, ended: make(chan error, 1)}
	running, kill := context.WithCancelCause(t.Context())
	p.kill = kill
	go func() {
		p.ended <- p.Run(running, func(ctx context.Context, term election.Term) error {
			terms <- event{name, term, time.Now(), ctx}
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	return p
}

// stop ends a candidate in order.
func (p *process) stop(t testing.TB) {
	t.Helper()
	p.kill(errKilled)
	wantError(t, <-p.ended, errKilled)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func wantError(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

func asLost(err error, lost **leasefdb.LostError) bool { return errors.As(err, lost) }

// asEnded reports whether Run ended because its context did.
func asEnded(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
