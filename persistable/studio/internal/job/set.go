// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// State is a job as pages show it.
type State struct {
	ID       int64      `json:"id"`
	Kind     string     `json:"kind"`
	About    string     `json:"about"`
	Begun    time.Time  `json:"begun"`
	Ended    *time.Time `json:"ended,omitempty"`
	Progress any        `json:"progress,omitempty"` // what the job reported last
	Result   any        `json:"result,omitempty"`
	Error    string     `json:"error,omitempty"`
}

// Func is the work of a job. It may call report at any time until it returns; what it reports
// must not change later.
type Func func(ctx context.Context, report func(progress any)) (result any, err error)

// keep is how many jobs that have ended are remembered.
const keep = 20

// Set is the jobs of a server, newest last. It is safe for concurrent use.
type Set struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	run    sync.WaitGroup

	mu     sync.Mutex
	jobs   []*entry
	last   int64
	closed bool
}

// entry is a job in its set.
type entry struct {
	State
	cancel context.CancelCauseFunc
}

var (
	// ErrClosed is the error of Start once the set is closed.
	ErrClosed = errors.New("the server is ending")
	// ErrRunning is the error of Start while a job of the same kind, about the same, runs.
	ErrRunning = errors.New("such a job is running already")
	errEnded   = errors.New("the server ended before the job did")
	// ErrCancelled is the cause with which Cancel ends a job.
	ErrCancelled = errors.New("it was cancelled")
)

// NewSet returns an empty set.
func NewSet() *Set {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Set{ctx: ctx, cancel: cancel}
}

// Start starts a job and returns its id. It refuses with ErrClosed and ErrRunning.
func (s *Set) Start(kind, about string, work Func) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	if slices.ContainsFunc(s.jobs, func(e *entry) bool { return e.Ended == nil && e.Kind == kind && e.About == about }) {
		return 0, ErrRunning
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.last++
	e := &entry{State{ID: s.last, Kind: kind, About: about, Begun: time.Now()}, cancel}
	s.jobs = append(s.forget(), e)
	s.run.Go(func() { s.execute(ctx, e, work) })
	return e.ID, nil
}

// forget returns the jobs without the oldest that have ended, if there are many.
func (s *Set) forget() []*entry {
	ended := 0
	for _, e := range s.jobs {
		if e.Ended != nil {
			ended++
		}
	}
	return slices.DeleteFunc(s.jobs, func(e *entry) bool {
		if e.Ended == nil || ended < keep {
			return false
		}
		ended--
		return true
	})
}

func (s *Set) execute(ctx context.Context, e *entry, work Func) {
	result, err := work(ctx, func(progress any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.Progress = progress
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	e.cancel(nil)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Ended, e.Result = &now, result
	if err != nil {
		e.Error = err.Error()
	}
}

// Cancel ends a job, and reports whether there is one with that id. It does not wait.
func (s *Set) Cancel(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.jobs, func(e *entry) bool { return e.ID == id })
	if i >= 0 {
		s.jobs[i].cancel(ErrCancelled)
	}
	return i >= 0
}

// List returns the jobs as they are now.
func (s *Set) List() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]State, len(s.jobs))
	for i, e := range s.jobs {
		all[i] = e.State
	}
	return all
}

// Close ends all jobs, lets none start, and waits for them.
func (s *Set) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(errEnded)
	s.run.Wait()
}
