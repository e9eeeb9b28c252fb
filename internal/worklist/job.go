// SPDX-License-Identifier: Apache-2.0

package worklist

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Job is work that is divided. It is safe for concurrent use.
type Job interface {
	// Transact runs fn in a transaction and commits it, and runs fn again after a
	// retryable error. fn is not called if the job is gone.
	Transact(ctx context.Context, fn func(Transaction) error) error
	// Read runs fn in a transaction that only reads. fn is not called if the job is gone.
	Read(ctx context.Context, fn func(kv.ReadTransaction, List) error) error
}

// Transaction is one attempt of a transaction of a job.
type Transaction interface {
	// KV returns the engine's transaction.
	KV() kv.Transaction
	// Open returns the list, and whether the job still goes on. The transaction conflicts
	// with the end of the job.
	Open(ctx context.Context) (l List, open bool, err error)
	// Work works on the next keys of a range. It may change the range's Result. What it has
	// written is committed together with the progress, unless it returns an error.
	Work(ctx context.Context, r *Range, b Batch) (Portion, error)
}

// Batch says what a transaction is to work on: keys from the range's Next on.
type Batch struct {
	Records int // the most units
	Bytes   int // about the most bytes that are read and written; one unit is always taken
	// Renew shows other workers that this one lives. Work that takes longer than a lease
	// calls it now and then, in another goroutine perhaps. The transaction then does not
	// commit, so the next attempt must find what the work has done.
	Renew func(context.Context) error
}

// Portion is the part of a range on which a transaction has worked.
type Portion struct {
	Next    []byte // where the rest of the range begins; its End if nothing is left
	Records int
	Bytes   int
}

// Options say how a job is worked on. The caller has checked them and filled in all
// defaults.
type Options struct {
	Workers        int           // goroutines
	Share          float64       // of its time that each worker works, above 0 and up to 1
	BytesPerSecond int           // of all workers together; 0: no limit
	BatchRecords   int           // the most units in a batch
	RangeBytes     int           // the least size of a range
	Lease          time.Duration // after which an unchanged claim is taken over
	NoPause        bool          // workers do not pause after conflicts: no other program writes to the keys
	Now            func() time.Time

	// Progress is called after each batch with all ranges as last seen, one call at a time. It may
	// be nil, and must not keep or change the ranges.
	Progress func([]Range)
}

// Progress is how far a job has come.
type Progress struct {
	Ranges     int // of the work list
	RangesDone int
	Records    int64 // that are done
	Bytes      int64 // that were read and written for them
	Estimate   int64 // of the bytes of all records when the job began
	Done       int64 // of Estimate
	Workers    int   // that have a claim
	Remaining  time.Duration
}

// NewProgress adds up the ranges of a list.
func NewProgress(ranges []Range) (p Progress) {
	p.Ranges = len(ranges)
	var busy time.Duration
	for i := range ranges {
		r := &ranges[i]
		p.Records += r.Records
		p.Bytes += r.Bytes
		p.Estimate += r.Estimate
		p.Done += r.estimatedDone()
		busy += r.Busy
		switch {
		case r.IsDone():
			p.RangesDone++
		case len(r.Worker) > 0:
			p.Workers++
		}
	}
	if p.Done > 0 {
		each := float64(busy) / float64(p.Done) * float64(p.Estimate-p.Done)
		p.Remaining = time.Duration(each / float64(max(p.Workers, 1)))
	}
	return p
}

// Stage is a point in a job at which a process may die.
type Stage string

// The stages of all jobs. They repeat.
const (
	// Picked: a worker has chosen a range, and not yet claimed it.
	Picked Stage = "picked"
	// Filled: a batch is worked on, within the transaction that also moves the range's
	// progress, before its commit.
	Filled Stage = "filled"
	// Moved: that transaction is committed.
	Moved Stage = "moved"
)

type hookKey struct{}

// WithHook returns a context with which a job calls hook at each stage, perhaps
// from several goroutines at once. Tests kill their process in it.
func WithHook(ctx context.Context, hook func(Stage)) context.Context {
	return context.WithValue(ctx, hookKey{}, hook)
}

// Reach calls the hook of the context, if it has one.
func Reach(ctx context.Context, s Stage) {
	if hook, ok := ctx.Value(hookKey{}).(func(Stage)); ok {
		hook(s)
	}
}
