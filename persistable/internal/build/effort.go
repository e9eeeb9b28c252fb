// SPDX-License-Identifier: Apache-2.0

package build

import "time"

// The bounds of a batch in bytes, and of the pause after conflicts. The largest batch is
// far below the limit of a transaction: writers' commits wait behind a batch's, and
// conflict with it the more often the more records it covers.
const (
	firstBatch = 64 << 10
	maxBatch   = 256 << 10
	minBatch   = 1 << 10
	firstPause = 5 * time.Millisecond
	maxPause   = time.Second
	maxRests   = 10 // the longest pause after conflicts, in times of the last batch
)

// effort is how much a worker does at a time. Additive increase would find the
// largest batch that rarely fails too slowly, so it grows by a tenth, and doubles
// until its first failure, as a TCP connection starts. A failure halves it.
//
// Each failure is a conflict with writers, or a transaction that was too old or too
// large. Conflicts cost the writers as well, so after them a worker also pauses.
type effort struct {
	records int // the most of a batch
	bytes   int // of the next batch
	most    int // records, as the caller limits them
	failed  bool
	pause   time.Duration // before the next batch
	taken   int           // bytes of the last batch
	took    time.Duration // its time
}

func newEffort(records int) effort { return effort{records: records, most: records, bytes: firstBatch} }

// shrink halves the next batch, from what the failed one had taken.
func (e *effort) shrink(t Portion) {
	e.failed = true
	e.bytes = max(min(e.bytes, max(t.Bytes, minBatch))/2, minBatch)
	e.records = max(min(e.records, max(t.Records, 1))/2, 1)
}

// slowDown doubles the pause.
func (e *effort) slowDown() { e.pause = min(max(2*e.pause, firstPause), maxPause) }

// grow enlarges the next batch after one that took a single attempt.
func (e *effort) grow() {
	if e.failed {
		e.bytes, e.records = e.bytes+e.bytes/10+1, e.records+e.records/10+1
	} else {
		e.bytes, e.records = 2*e.bytes, 2*e.records
	}
	e.bytes, e.records = min(e.bytes, maxBatch), min(e.records, e.most)
	if e.pause /= 2; e.pause < firstPause {
		e.pause = 0
	}
}

// rest returns how long the worker pauses after its last batch, so that it works for a
// share of its time and no longer. When the database is slow, the pauses are longer. The
// pause after conflicts is bounded by the time of the batch, so that small batches that
// often conflict do not stop the build.
func (e *effort) rest(share float64) time.Duration {
	return max(time.Duration(float64(e.took)*(1-share)/share), min(e.pause, maxRests*e.took))
}
