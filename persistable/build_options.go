// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// BuildOptions say how [Indexes.BuildWith] works. The zero value is ready to use.
type BuildOptions struct {
	// Workers is how many goroutines of this process build, each in transactions of
	// its own over records of its own. The default value is 1. Other processes may
	// build at the same time, with workers of their own.
	Workers int
	// Share is the part of its time that each worker works, from 0.01 to 1. It pauses for
	// the remaining time, in which the commits of other programs do not wait behind the
	// build's. The default value is 0.5. With 1 a worker pauses only after conflicts.
	Share float64
	// BytesPerSecond limits what the workers of this process read and write together.
	// The default value, 0, is no limit. Apart from it, workers do less, and pause,
	// while their transactions conflict with writes.
	BytesPerSecond int
	// RangeBytes is the least size of the ranges of records that workers claim, by the
	// engine's estimate. The default value is a megabyte; with more than 512 megabytes
	// of records ranges are larger. The process that begins a build decides.
	RangeBytes int
	// Lease is how long a worker's claim on a range of records may stay without any
	// change before other processes take the range over: after that time they replace
	// a process that was killed. The default value is ten seconds.
	Lease time.Duration
	// Progress, if it is not nil, is called after each batch of records, one call at a
	// time. The build waits for it.
	Progress func(BuildProgress)
}

// Validate reports all faults of the options, joined.
func (o BuildOptions) Validate() error {
	var faults []error
	for name, n := range map[string]int64{"Workers": int64(o.Workers), "BytesPerSecond": int64(o.BytesPerSecond), "RangeBytes": int64(o.RangeBytes), "Lease": int64(o.Lease)} {
		if n < 0 {
			faults = append(faults, fmt.Errorf("persistable: BuildOptions.%s is %d, must not be negative", name, n))
		}
	}
	if o.Workers > maxWorkers {
		faults = append(faults, fmt.Errorf("persistable: BuildOptions.Workers is %d, at most %d are possible", o.Workers, maxWorkers))
	}
	if o.Share != 0 && !(o.Share >= minShare && o.Share <= 1) { // so that NaN is a fault
		faults = append(faults, fmt.Errorf("persistable: BuildOptions.Share is %v, must be from %v to 1", o.Share, minShare))
	}
	return errors.Join(faults...)
}

const (
	maxWorkers   = 1000
	minShare     = 0.01
	defaultShare = 0.5
	defaultLease = 10 * time.Second
)

// internal returns the options of package build.
func (o BuildOptions) internal(batch int) build.Options {
	b := build.Options{
		Workers: orDefault(o.Workers, 1), Share: o.Share, BytesPerSecond: o.BytesPerSecond, BatchRecords: batch,
		RangeBytes: orDefault(o.RangeBytes, 1<<20), Lease: o.Lease, Now: time.Now,
	}
	if b.Share == 0 {
		b.Share = defaultShare
	}
	if b.Lease == 0 {
		b.Lease = defaultLease
	}
	if report := o.Progress; report != nil {
		b.Progress = func(p build.Progress) { report(newBuildProgress(p)) }
	}
	return b
}
