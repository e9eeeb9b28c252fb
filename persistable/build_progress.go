// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// BuildProgress is how far the build of a store's indexes has come, in all processes
// together. Records and bytes of records that were created since the build began
// count as well.
type BuildProgress struct {
	// Indexes are the key names of the indexes that are built. If there are none, no
	// build has begun, or its last records are done.
	Indexes []string
	// Ranges is the number of ranges into which the records are divided, RangesDone of
	// those that are done.
	Ranges, RangesDone int
	// Records is the number of records that are done.
	Records int64
	// Bytes is the number of bytes that were read and written for them.
	Bytes int64
	// EstimatedBytes is the size of all records when the build began, by the engine's
	// estimate; EstimatedDone is the part of it that is done.
	EstimatedBytes, EstimatedDone int64
	// Workers is the number of workers, in all processes, that have claimed a range.
	Workers int
	// Remaining is how long so many workers still need, if they go on as they did until
	// now; 0 if that is not known yet.
	Remaining time.Duration
}

func newBuildProgress(p build.Progress) BuildProgress {
	b := BuildProgress{
		Ranges: p.Ranges, RangesDone: p.RangesDone, Records: p.Records, Bytes: p.Bytes,
		EstimatedBytes: p.Estimate, EstimatedDone: p.Done, Workers: p.Workers, Remaining: p.Remaining,
	}
	for _, m := range p.Members {
		b.Indexes = append(b.Indexes, m.KeyName)
	}
	return b
}

// String returns the progress as one line.
func (p BuildProgress) String() string {
	if len(p.Indexes) == 0 {
		return "no index is being built"
	}
	percent := 100 * float64(p.EstimatedDone) / float64(max(p.EstimatedBytes, 1))
	return fmt.Sprintf("%s: %.0f %%, %d records, %d of %d ranges, %d workers, about %v left",
		strings.Join(p.Indexes, ", "), percent, p.Records, p.RangesDone, p.Ranges, p.Workers, p.Remaining.Round(time.Second))
}
