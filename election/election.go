// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/internal/uptime"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// Election is one candidate's, or one observer's, part in an election. It is safe
// for concurrent use.
type Election struct {
	db      kv.Database
	name    string
	options Options
	names   *leasefdb.Names
	dirs    *directory.Cache

	mu      sync.Mutex
	running bool
	resign  func() // ends the present term; nil without one
	metrics Metrics
}

// New returns an election of a name in db. Nothing is read or written, and a program
// that only observes needs nothing else. The errors are those of the name and of
// [Options.Validate], joined.
func New(db kv.Database, name string, o Options) (*Election, error) {
	if db == nil {
		return nil, errors.New("election: the database is nil")
	}
	if err := errors.Join(checkText("name", name), o.Validate()); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	names, err := leasefdb.NewNames(db, o.Layer, o.Path...)
	if err != nil {
		return nil, err
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, err
	}
	return &Election{db: db, name: name, options: o, names: names, dirs: dirs, metrics: Metrics{Name: name}}, nil
}

// Run campaigns until the candidate leads, and then calls lead, which leads while its
// context lives. When lead returns, Run gives the name back, so that the next leader
// follows at once, and campaigns again, unless Options.Once. A candidate that
// ended its term by its own will first leaves the others an ElectionTimeout.
//
// ctx ends it all: a leader's context ends with it, Run waits until lead has returned, gives
// the name back, for which it takes a Duration at most if the database does not answer, and
// returns ctx's cause. Run returns sooner
//
//   - with lead's error, if it has one that is not a consequence of its context's end
//     (neither an [ErrDeposed], [ErrResigned] nor context.Canceled);
//   - with Options.Once after the first term: nil, or an ErrDeposed if it was lost;
//   - with an error of the database that will not pass: it is closed
//     ([kv.ErrClosed]), or what is stored cannot be read. Errors of the engine that may pass are
//     tried again for as long as it takes.
//
// While lead has not returned, its candidate does not campaign, so let it return when
// its context ends. A second Run at the same time is an [ErrRunning].
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, term Term) error) error {
	if lead == nil {
		return errors.New("election: the function that leads is nil")
	}
	if err := e.markRunning(); err != nil {
		return err
	}
	defer e.markStopped()
	if o := e.options.Observer; o != nil {
		defer o.Observe(e.Metrics)()
	}
	return e.campaignAgain(ctx, lead)
}

func (e *Election) markRunning() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running {
		return ErrRunning
	}
	e.running = true
	return nil
}

func (e *Election) markStopped() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = false
}

// Resign ends the present term of this candidate, and reports whether there is one:
// the leader's context ends with the cause [ErrResigned]. The name is given back once
// the function that leads has returned, and renewed until then.
func (e *Election) Resign() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.resign == nil {
		return false
	}
	e.resign()
	return true
}

// setResign says how to end the present term; nil: there is none.
func (e *Election) setResign(resign func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resign = resign
}

// Metrics returns the present metrics.
func (e *Election) Metrics() Metrics {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.metrics
}

// updateMetrics changes the metrics.
func (e *Election) updateMetrics(change func(*Metrics)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.metrics)
}

func (e *Election) newCampaign(ctx context.Context, giveWay time.Duration) *campaign {
	c := &campaign{
		Election: e, request: rand.Text(), origin: time.Now(), uptime: uptime.New(),
		self:    registration{Standby: Standby{e.options.Candidate, e.options.Priority}, member: rand.Text()},
		timer:   time.NewTimer(0),
		outcome: make(chan func(time.Duration), 1),
		watch:   neverWatch(),
	}
	c.actions, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.candidate = candidate.New(candidate.Config{
		Request: c.request, Duration: e.options.Duration, Window: max(e.options.ElectionTimeout/2, 1),
		GiveWay: giveWay, Source: e.options.Source, Origin: c.origin,
	}, 0)
	return c
}

// campaignAgain campaigns and leads, repeatedly.
func (e *Election) campaignAgain(ctx context.Context, lead func(context.Context, Term) error) error {
	giveWay := time.Duration(0)
	for {
		c := e.newCampaign(ctx, giveWay)
		err := c.awaitLeadership(ctx)
		served := err == nil && c.candidate.Over() == nil // else it was over before it could begin
		if served {
			err = c.lead(ctx, lead)
		}
		c.cleanUp(ctx)
		over := c.candidate.Over()
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !served || !e.options.Once:
		case over != nil:
			return deposed(c.grant, over)
		default:
			return nil
		}
		giveWay = 0
		if over == nil { // it has resigned
			giveWay = e.options.ElectionTimeout
		}
	}
}

// Term is a leader's time in office. It is an immutable value, and safe for
// concurrent use. Under the zero Term nothing can be written.
type Term struct{ grant leasefdb.Grant }

// Name returns the name of the election.
func (t Term) Name() string { return t.grant.Name }

// Rank returns the rank of the term: greater than those of all terms of the
// name before it.
func (t Term) Rank() int64 { return t.grant.Epoch }

// Fence returns the condition that the term is in force, for
// [persistable.DB.Under]: stores of that DB write in this term, or fail with a
// persistable.ErrFenced, which is an [ErrDeposed].
//
// [persistable.DB.Under]: https://pkg.go.dev/github.com/kazahana-db/kazahana/persistable#DB.Under
func (t Term) Fence() leasefdb.Fence { return t.grant.Fence() }

// Under returns db with every transaction under the term: it commits only while
// the term is in force, and else fails with an [ErrDeposed]. db must be the
// election's own database. See [leasefdb.Fence.Under].
func (t Term) Under(db kv.Database) kv.Database { return t.Fence().Under(db) }

// Check makes tx, a transaction of the election's database, commit only while the
// term is in force: see [leasefdb.Grant.Check].
func (t Term) Check(ctx context.Context, tx kv.Transaction) error { return t.grant.Check(ctx, tx) }

// Status is the leader, as far as an observer knows.
type Status struct {
	Leader string // the owner that leads; empty if there is none
	Rank   int64  // of its term, or of the last one; 0 if there was none
}

// Observe returns the leader, and then each change of it, until ctx ends. The
// leader is empty after a resignation, and when it has not renewed its
// lease for its whole duration. A watch of the key shows changes; of several
// changes close together Observe may return only the last one. If the engine
// can give no watch, Observe reads three times a lease. It tries again after
// transient errors of the engine.
//
// The last pair has the error: ctx's cause, or an error that is not transient.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		o := observer{Election: e}
		for first := true; ; first = false {
			before := o.status
			if err := o.readLeader(ctx); err != nil {
				yield(Status{}, err)
				return
			}
			if (first || o.status != before) && !yield(o.status, nil) {
				o.watch.Cancel()
				return
			}
			o.awaitChange(ctx)
		}
	}
}

// observer is one observation.
type observer struct {
	*Election
	seen   leasefdb.Observation
	status Status
	watch  kv.Future[struct{}]
}

// readLeader reads the leader, and watches the name.
func (o *observer) readLeader(ctx context.Context) error {
	for {
		state, watch, err := o.names.Watch(ctx, o.db, o.name)
		if unwatchable(err) {
			watch = kv.Resolved(struct{}{}, err)
			state, err = o.names.Get(ctx, o.db, o.name)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			o.updateStatus(state)
			o.watch = watch
			return nil
		case !isTransient(err):
			return err
		}
		_ = sleep.For(ctx, o.options.Duration/12)
	}
}

func (o *observer) updateStatus(state leasefdb.State) {
	o.seen = o.seen.Observe(state, time.Now())
	o.status = Status{Rank: state.Epoch}
	if state.Held() && o.seen.Remaining(time.Now()) > 0 {
		o.status.Leader = state.Holder
	}
}

// awaitChange waits until the watch fires or the lease has lapsed. Without a
// watch it waits a third of a lease.
func (o *observer) awaitChange(ctx context.Context) {
	defer func() { o.watch.Cancel() }()
	var lapsed <-chan time.Time
	if o.status.Leader != "" {
		timer := time.NewTimer(o.seen.Remaining(time.Now()))
		defer timer.Stop()
		lapsed = timer.C
	}
	select {
	case <-o.watch.Done():
		if _, err := o.watch.Get(ctx); err != nil {
			_ = sleep.For(ctx, o.options.Duration/3)
		}
	case <-lapsed:
	case <-ctx.Done():
	}
}

// neverWatch is a watch that never fires.
func neverWatch() kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }

// Observer takes note of elections that run, to report their metrics: see package
// electionotel.
type Observer interface {
	// Observe is called when Run begins. read returns the present metrics at any
	// time, from any goroutine; forget is called when Run ends.
	Observe(read func() Metrics) (forget func())
}

// Metrics is what an [Election] counts, as its candidate sees it. Counts begin with
// New and never go back.
type Metrics struct {
	Name     string // of the election
	Leading  bool
	Rank     int64 // of the latest term that it led
	Standbys int64 // that were registered at its latest renewal; 0 if it does not lead

	Terms     int64 // that it won
	Takeovers int64 // of these, terms that began with the lapse of another's lease
	Deposed   int64 // terms that it lost
	Resigned  int64 // terms that it ended itself

	Renewals       int64 // that were made
	LateRenewals   int64 // that were left out since one was under way, or since the process stood still
	FailedRenewals int64 // that failed, and were tried again
	Failures       int64 // looks and claims that failed, and were tried again

	// Vacant is how long there was no leader, as far as the candidate could know: since the name
	// was given back, or since a lease had lapsed.
	Vacant time.Duration
}

// ErrDeposed: a term is over although its leader has not ended it. It is
// leasefdb.ErrLeaseLost, so that it is also the error of stores under
// [Term.Fence]. It comes as a *[leasefdb.LostError], with the rank as its epoch,
// and is not retryable.
var ErrDeposed = leasefdb.ErrLeaseLost

var (
	// ErrResigned is the cause of the end of a leader's context after
	// [Election.Resign].
	ErrResigned = errors.New("election: the leader has resigned")
	// ErrRunning: the Election runs already.
	ErrRunning = errors.New("election: Run is under way already; each candidate needs an Election of its own")
)

// deposed is the cause of the end of a leader's context that lost its term.
func deposed(g leasefdb.Grant, cause error) error {
	if errors.Is(cause, ErrDeposed) {
		return cause
	}
	return &leasefdb.LostError{Name: fmt.Sprintf("%q", g.Name), Epoch: g.Epoch, Reason: cause.Error(), Err: cause}
}

// isTransient reports whether an error of the database may pass: it comes from the engine,
// or tells nothing but that an outcome is unknown.
func isTransient(err error) bool {
	retry := new(kv.RetryError)
	return kv.CodeOf(err) != 0 || errors.As(err, &retry) || errors.Is(err, kv.ErrOutcomeUnknown)
}

// isConsequence reports whether a leader's error is nothing but the consequence of the end
// of its context.
func isConsequence(err error) bool {
	return err == nil || errors.Is(err, ErrDeposed) || errors.Is(err, ErrResigned) || errors.Is(err, context.Canceled)
}

// unwatchable reports whether the engine can give no watch.
func unwatchable(err error) bool {
	code := kv.CodeOf(err)
	return code == kv.CodeTooManyWatches || code == kv.CodeWatchesDisabled
}
