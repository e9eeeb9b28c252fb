// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// MaxCount is how many numbers a request can have.
const MaxCount = 1 << 20

// Spec specifies the numbers of a sequence.
type Spec struct {
	// Start is the value of a sequence that the store does not have yet. The first
	// number is Start + Step.
	Start int64
	// Step is the distance of two numbers in requests that name none, and the unit
	// of reservations. It is not 0, and negative for a sequence that descends.
	Step int64
	// Bound is the last number that may be given: a maximum, or, where Step is
	// negative, a minimum. It has no default: [math.MaxInt64] is none.
	Bound int64
	// Epoch changes when the sequence may have been set back in the store: the pool then drops
	// the numbers in memory, see [Pool.Drop].
	Epoch int64
}

// Validate reports what is wrong with a specification.
func (s Spec) Validate() error {
	if s.Step == 0 {
		return fmt.Errorf("sequence: the step is 0, allowed is any other number")
	}
	return nil
}

// roomAfter returns the distance from a value to the bound: 0 if the bound is passed.
func (s Spec) roomAfter(from int64) uint64 {
	if (s.Step > 0) != (from < s.Bound) || from == s.Bound {
		return 0
	}
	return distance(from, s.Bound)
}

// Request specifies the numbers that [Sequence.Take] takes.
type Request struct {
	// Count is the number of numbers: 1 to [MaxCount].
	Count int
	// Delta is the distance of two numbers. It has the sign of the sequence's step;
	// 0 stands for the step.
	Delta int64
	// Random makes each distance random instead: from 1 to the size of Delta, all
	// equally likely. Close to the bound they are shorter, so that
	// Count numbers fit as long as there are so many.
	Random bool
}

// deltaSize returns the size of the distance of two numbers.
func (r Request) deltaSize(step int64) (uint64, error) {
	switch {
	case r.Count < 1 || r.Count > MaxCount:
		return 0, fmt.Errorf("sequence: a request of %d numbers, allowed are 1 to %d", r.Count, MaxCount)
	case r.Delta == 0:
		return size(step), nil
	case (r.Delta < 0) != (step < 0):
		return 0, fmt.Errorf("sequence: the delta %d of a request has another sign than the step %d of the sequence", r.Delta, step)
	}
	return size(r.Delta), nil
}

// mulSat returns a·b, or the greatest number.
func mulSat(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// addSat returns a+b, or the greatest number.
func addSat(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// size returns |n|.
func size(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// distance returns |a-b|.
func distance(a, b int64) uint64 {
	if a > b {
		a, b = b, a
	}
	return uint64(b) - uint64(a)
}

// move returns the value that lies a distance ahead of another, in the direction
// of step.
func move(from int64, by uint64, step int64) int64 {
	if step < 0 {
		by = -by
	}
	return int64(uint64(from) + by)
}

// The defaults of [Options].
const (
	DefaultBatchSize         = 1000
	DefaultMaxBatch          = 10_000_000
	DefaultPrefetchThreshold = 0.2
	DefaultTarget            = 10 * time.Second
	DefaultConcurrency       = 32
	DefaultTimeout           = 10 * time.Second
	DefaultMinBackoff        = 20 * time.Millisecond
	DefaultMaxBackoff        = time.Second
	DefaultIdle              = 10 * time.Minute
)

// Options configures a [Pool]. The zero value is usable.
type Options struct {
	// BatchSize is how many steps of a sequence one reservation takes at first, and as long
	// as the sequence is little used; at least 1. The default, used for 0, is
	// [DefaultBatchSize].
	BatchSize int64
	// MaxBatch is how many steps one reservation takes at most, unless a single
	// request needs more. The default, used for 0, is [DefaultMaxBatch], or
	// BatchSize if that is more.
	MaxBatch int64
	// PrefetchThreshold is the share of a batch, between 0 and 1, below which the
	// next batch is reserved in the background. The pool begins earlier where the
	// store is so slow that the share would be used up before it answers. The
	// default, used for 0, is [DefaultPrefetchThreshold].
	PrefetchThreshold float64
	// Target is how long a batch should last at the rate at which the sequence was
	// used lately. A crash loses at most what this time would have used. The
	// default, used for 0, is [DefaultTarget].
	Target time.Duration
	// Concurrency is how many reservations of all sequences run at a time. The
	// default, used for 0, is [DefaultConcurrency].
	Concurrency int
	// Timeout ends a reservation that the store does not answer. Its numbers are
	// lost. The default, used for 0, is [DefaultTimeout].
	Timeout time.Duration
	// MinBackoff and MaxBackoff bound the time between a reservation that failed
	// and the next of the same sequence. It doubles with each failure; a random
	// part of up to half is taken off. The defaults, used for 0, are
	// [DefaultMinBackoff] and [DefaultMaxBackoff].
	MinBackoff, MaxBackoff time.Duration
	// Idle is for how long a sequence keeps its numbers in memory while it is not
	// used. After that they are given back to the store, or lost if another pool has
	// reserved since. The default, used for 0, is [DefaultIdle]; a negative value
	// means for ever.
	Idle time.Duration
	// Log is called when reservations of a sequence begin to fail, and when they succeed
	// again. With nil, the default, nothing is logged.
	Log *slog.Logger
}

// Validate reports everything that is wrong with the options, by their names in the options of
// a worker.
func (o Options) Validate() error {
	o.setDefaults()
	return errors.Join(
		check(o.BatchSize >= 1, "BatchSize", o.BatchSize, "at least 1"),
		check(o.MaxBatch >= o.BatchSize, "MaxBatch", o.MaxBatch, fmt.Sprintf("at least BatchSize, %d", o.BatchSize)),
		check(o.PrefetchThreshold > 0 && o.PrefetchThreshold < 1, "PrefetchThreshold", o.PrefetchThreshold, "between 0 and 1, both excluded"),
		check(o.Target > 0, "BatchDuration", o.Target, "more than 0"),
		check(o.Concurrency >= 1, "Concurrency", o.Concurrency, "at least 1"),
		check(o.Timeout > 0, "ReserveTimeout", o.Timeout, "more than 0"),
		check(o.MinBackoff > 0, "MinBackoff", o.MinBackoff, "more than 0"),
		check(o.MaxBackoff >= o.MinBackoff, "MaxBackoff", o.MaxBackoff, fmt.Sprintf("at least MinBackoff, %v", o.MinBackoff)),
	)
}

func check(ok bool, option string, value any, allowed string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("idbuilder: %s is %v, allowed is %s", option, value, allowed)
}

func (o *Options) setDefaults() {
	setDefault(&o.BatchSize, DefaultBatchSize)
	setDefault(&o.MaxBatch, max(DefaultMaxBatch, o.BatchSize))
	setDefault(&o.PrefetchThreshold, DefaultPrefetchThreshold)
	setDefault(&o.Target, DefaultTarget)
	setDefault(&o.Concurrency, DefaultConcurrency)
	setDefault(&o.Timeout, DefaultTimeout)
	setDefault(&o.MinBackoff, DefaultMinBackoff)
	setDefault(&o.MaxBackoff, max(DefaultMaxBackoff, o.MinBackoff))
	setDefault(&o.Idle, DefaultIdle)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func setDefault[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}

var (
	// ErrClosed says that the Pool is closed.
	ErrClosed = errors.New("sequence: the pool is closed")
	// ErrDirection says that a caller wants to change the direction of a sequence, which would
	// then give numbers that it gave before.
	ErrDirection = errors.New("sequence: a sequence cannot change its direction")
	// ErrRewound says that the store reserved numbers that this pool may have given before:
	// the sequence was set back, or the store lost data. The pool gives only the numbers in
	// its memory until [Pool.Drop] confirms that the sequence was set back on purpose.
	ErrRewound = errors.New("sequence: the store gave numbers that it had given before")
)

// ExhaustedError says that the numbers of a request do not fit before the bound of the
// sequence. Smaller requests may succeed. It wraps [store.ErrExhausted].
type ExhaustedError struct {
	Name  string
	Bound int64
	// Room is how far the last number of a request may lie from the number before its
	// first one: Count times Delta. It may be less when several pools share the
	// sequence.
	Room uint64
}

// Error implements error.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("sequence %q: the request does not fit before the bound %d; the last number may be at most %d further: %v", e.Name, e.Bound, e.Room, store.ErrExhausted)
}

// Unwrap returns [store.ErrExhausted].
func (*ExhaustedError) Unwrap() error { return store.ErrExhausted }
