// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"sync"

	"github.com/kazahana-db/kazahana/directory"
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
	names, err := leasefdb.NewNames(db, leasefdb.NameOptions{Layer: o.Layer, Path: o.Path})
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
// follows at once, and campaigns again, unless Options.Once. A candidate whose
// term ended by its own will first leaves the others an ElectionTimeout.
//
// ctx ends it all: a leader's context ends with it, Run waits until lead has returned, gives
// the name back, for which it takes a Duration at most if the database does not answer, and
// returns ctx's cause. Run returns sooner
//
//   - with lead's error, if it has one that is no consequence of its context's end
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
