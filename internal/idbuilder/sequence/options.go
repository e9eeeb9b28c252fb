// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

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
	// again. The default, nil, is no log.
	Log *slog.Logger
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	o.setDefaults()
	return errors.Join(
		check(o.BatchSize >= 1, "BatchSize", o.BatchSize, "at least 1"),
		check(o.MaxBatch >= o.BatchSize, "MaxBatch", o.MaxBatch, fmt.Sprintf("at least BatchSize, %d", o.BatchSize)),
		check(o.PrefetchThreshold > 0 && o.PrefetchThreshold < 1, "PrefetchThreshold", o.PrefetchThreshold, "between 0 and 1, both excluded"),
		check(o.Target > 0, "Target", o.Target, "more than 0"),
		check(o.Concurrency >= 1, "Concurrency", o.Concurrency, "at least 1"),
		check(o.Timeout > 0, "Timeout", o.Timeout, "more than 0"),
		check(o.MinBackoff > 0, "MinBackoff", o.MinBackoff, "more than 0"),
		check(o.MaxBackoff >= o.MinBackoff, "MaxBackoff", o.MaxBackoff, fmt.Sprintf("at least MinBackoff, %v", o.MinBackoff)),
	)
}

func check(ok bool, option string, value any, allowed string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("sequence: Options.%s is %v, allowed is %s", option, value, allowed)
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
