// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/studio/internal/job"
)

// indexPages show the indexes of a store, and start jobs that build, verify, repair or drop them.
type indexPages struct {
	stores *storePages
	jobs   *jobPages
}

// progress is how far a build is, in all processes.
type progress struct {
	Indexes        []string `json:"indexes"`
	Ranges         int      `json:"ranges"`
	RangesDone     int      `json:"rangesDone"`
	Records        int64    `json:"records"`
	EstimatedBytes int64    `json:"estimatedBytes"`
	EstimatedDone  int64    `json:"estimatedDone"`
	Workers        int      `json:"workers"`
	RemainingMs    int64    `json:"remainingMs"`
}

func newProgress(p persistable.BuildProgress) progress {
	return progress{list(p.Indexes), p.Ranges, p.RangesDone, p.Records, p.EstimatedBytes, p.EstimatedDone, p.Workers, p.Remaining.Milliseconds()}
}

// report is what a verification has found.
type report struct {
	Records  int      `json:"records"`
	Entries  int      `json:"entries"`
	Faults   []fault  `json:"faults"` // the first hundred
	Count    int      `json:"count"`  // of faults
	More     bool     `json:"more"`
	Repaired int      `json:"repaired"`
	Skipped  []string `json:"skipped"`
}

type fault struct {
	Index  string `json:"index"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func newReport(r persistable.Report) report {
	v := report{Records: r.Records, Entries: r.Entries, Count: len(r.Faults), More: r.More, Repaired: r.Repaired, Skipped: list(r.Skipped), Faults: []fault{}}
	for _, f := range r.Faults[:min(len(r.Faults), 100)] {
		v.Faults = append(v.Faults, fault{f.Index, f.ID, f.Reason})
	}
	return v
}

// list returns the indexes of a store and how far a build of them is.
func (p *indexPages) list(r *http.Request) (any, error) {
	s, err := p.stores.open(r)
	if err != nil {
		return nil, err
	}
	done, err := s.Indexes().Progress(r.Context())
	if err != nil {
		return nil, err
	}
	return map[string]any{"schema": newSchemaView(s), "progress": newProgress(done)}, nil
}

// storeRequest names a store, and one of its indexes.
type storeRequest struct {
	Path  []string `json:"path"`
	Type  string   `json:"type"`
	Index string   `json:"index,omitempty"`
}

// about tells people which store a request names.
func (q *storeRequest) about() string { return q.Type + " in " + strings.Join(q.Path, "/") }

func (p *indexPages) readRequest(r *http.Request) (q storeRequest, s *dynamic.Store, err error) {
	if err = readBody(r, &q); err == nil {
		s, err = dynamic.Open(r.Context(), p.stores.db, q.Path, q.Type)
	}
	return q, s, err
}

// start starts a job on the store of a request.
func (p *indexPages) start(r *http.Request, kind string, work func(ctx context.Context, s *dynamic.Store, report func(any)) (any, error)) (any, error) {
	q, s, err := p.readRequest(r)
	if err != nil {
		return nil, err
	}
	return p.jobs.start(kind, q.about(), func(ctx context.Context, report func(any)) (any, error) { return work(ctx, s, report) })
}

func (p *indexPages) build(r *http.Request) (any, error) {
	return p.start(r, "build", func(ctx context.Context, s *dynamic.Store, report func(any)) (any, error) {
		return nil, s.Indexes().Build(ctx, persistable.BuildOptions{Progress: func(done persistable.BuildProgress) { report(newProgress(done)) }})
	})
}

func (p *indexPages) verify(r *http.Request) (any, error) { return p.check(r, "verify", false) }

func (p *indexPages) repair(r *http.Request) (any, error) { return p.check(r, "repair", true) }

func (p *indexPages) check(r *http.Request, kind string, repair bool) (any, error) {
	return p.start(r, kind, func(ctx context.Context, s *dynamic.Store, report func(any)) (any, error) {
		o := persistable.VerifyOptions{Repair: repair, Progress: func(found persistable.Report) { report(newReport(found)) }}
		if !repair {
			o.RecountBytes, o.NoRecount = math.MaxInt64, true // the page says that it changes nothing
		}
		found, err := s.Indexes().Verify(ctx, o)
		return newReport(found), err
	})
}

// drop removes an index with its entries and its definition.
func (p *indexPages) drop(r *http.Request) (any, error) {
	q, s, err := p.readRequest(r)
	if err != nil {
		return nil, err
	}
	if q.Index == "" {
		return nil, invalid("index: say which index is dropped")
	}
	return p.jobs.start("drop", "index "+q.Index+" of "+q.about(), func(ctx context.Context, _ func(any)) (any, error) {
		return nil, s.Drop(ctx, q.Index)
	})
}

// jobPages list the jobs of the handler, and start and cancel them.
type jobPages struct{ set *job.Set }

// start starts a job, and answers with its id.
func (p *jobPages) start(kind, about string, work job.Func) (any, error) {
	id, err := p.set.Start(kind, about, work)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", kind, about, err)
	}
	return map[string]any{"job": id}, nil
}

func (p *jobPages) list(*http.Request) (any, error) {
	return map[string]any{"jobs": list(p.set.List())}, nil
}

func (p *jobPages) cancel(r *http.Request) (any, error) {
	var q struct {
		ID int64 `json:"id"`
	}
	if err := readBody(r, &q); err != nil {
		return nil, err
	}
	if !p.set.Cancel(q.ID) {
		return nil, &statusError{http.StatusNotFound, errors.New("there is no such job")}
	}
	return map[string]any{}, nil
}
