// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Progress is how far a build has come.
type Progress struct {
	Members    []Member // the indexes that are built; none if there is no build
	Ranges     int      // of the work list
	RangesDone int
	Records    int64 // that are done
	Bytes      int64 // that were read and written for them
	Estimate   int64 // of the bytes of all records when the build began
	Done       int64 // of Estimate
	Workers    int   // that have a claim
	Remaining  time.Duration
}

// newProgress adds up the ranges of a list.
func newProgress(members []Member, ranges []Range) Progress {
	p := Progress{Members: members, Ranges: len(ranges)}
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

// ReadProgress returns how far the build of a store has come, of all processes
// together.
func ReadProgress(ctx context.Context, store Store) (p Progress, err error) {
	err = store.Read(ctx, func(tx kv.ReadTransaction, at Place) error {
		members, err := at.List.readMembers(ctx, tx)
		if err != nil || members == nil {
			p = Progress{}
			return err
		}
		ranges, err := at.List.readRanges(ctx, tx)
		p = newProgress(members, ranges)
		return err
	})
	return p, err
}
