// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/json"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
)

// Metrics says how a database does. Counts are since it was opened; sizes are in
// bytes; times, in JSON, in nanoseconds. What concerns the disk is zero for a
// database in memory. docs/operations.md of the repository tells what to watch.
type Metrics struct {
	// Transactions that asked for a commit and had something to write. Reads are
	// not counted: it would slow them down.
	Commits   int64 // made
	Conflicts int64 // refused with CodeNotCommitted
	TooOld    int64 // refused with CodeTransactionTooOld
	Failed    int64 // failed otherwise: the disk has failed, or what atomic operations read or make is too large
	Refused   int64 // refused with CodeCommitProxyMemoryLimitExceeded: too many waited
	Retries   int64 // attempts that OnError allowed, for whatever error

	// Batches are what is made durable together.
	BatchSize Histogram[int64]         // transactions of a batch
	Sync      Histogram[time.Duration] // how long the log's file took to sync

	// Commits that wait.
	QueuedCommits int64
	QueuedBytes   int64
	Delayed       bool          // they wait for room in the window, now
	Delays        int64         // how often commits had to wait for it
	DelayTime     time.Duration // how long, in all

	// Versions, of which there are about a million a second.
	Version       int64 // newest that can be read
	OldestVersion int64 // oldest that is in memory, because it is recent or because a transaction read it when the garbage collector last looked
	Views         int   // how many versions are in memory
	HistoryBytes  int64 // about what those take that no transaction may be reading, beyond the newest

	// The window: what was written lately and is not in the base.
	WindowBytes  int64
	WindowLimit  int64 // Options.WindowSize
	WindowWrites int64

	// The log: what an opening would read.
	LogBytes    int64
	LogSegments int

	// The base.
	AbsorbedVersion  int64         // what was committed up to it is in the base
	AbsorbedWrites   int64         // writes that left the window
	AbsorbTime       time.Duration // that it took
	BaseBytes        int64         // on disk
	BaseTables       int64         // files on disk
	BaseMemory       int64         // not on the disk yet
	BaseCacheBytes   int64         // of what was read lately, blocks and single rows
	BaseCacheHits    int64         // of blocks, for reads that found no row
	BaseCacheMisses  int64
	BaseCompactions  int64
	BaseCompactBytes int64 // estimated work that compactions still have to do

	Watches int64  // outstanding
	Backups int64  // made
	Fault   string // what the disk failed with, after which nothing is committed; empty: nothing
}

// String returns the metrics as JSON: Metrics is an [expvar.Var].
func (m Metrics) String() string {
	text, err := json.Marshal(m)
	if err != nil {
		return "{}" // it has neither functions, channels nor cycles
	}
	return string(text)
}

// Histogram tells how often which values occurred. Its buckets are those of a
// Prometheus histogram: each counts what is not above its bound, so the counts
// ascend, and the last bound is not below any value seen.
type Histogram[T ~int64] struct {
	Count   int64
	Sum     T
	Max     T
	Buckets []Bucket[T] // not nil, so that it is [] in JSON if there are no values
}

// Bucket counts the values up to a bound.
type Bucket[T ~int64] struct {
	UpTo  T // included
	Count int64
}

// Mean returns the average, 0 if there are no values.
func (h Histogram[T]) Mean() T {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / T(h.Count)
}

// Quantile returns a bound that a share q of the values, from 0 to 1, does not
// exceed. It is less than twice as large as the value wanted; 0 if there are none.
func (h Histogram[T]) Quantile(q float64) T {
	for _, b := range h.Buckets {
		if float64(b.Count) >= q*float64(h.Count) {
			return min(b.UpTo, h.Max)
		}
	}
	return h.Max
}

// readHistogram returns what h has counted, beginning with the bucket of least.
func readHistogram[T ~int64](h *commitlog.Histogram, least T) Histogram[T] {
	sum, highest, buckets := h.Load()
	r := Histogram[T]{Sum: T(sum), Max: T(highest), Buckets: []Bucket[T]{}}
	for i, n := range buckets {
		r.Count += n
		upTo := T(1) << min(i, 62)
		if upTo >= least && (r.Count > 0 || len(r.Buckets) > 0) {
			r.Buckets = append(r.Buckets, Bucket[T]{upTo, r.Count})
		}
		if upTo >= max(r.Max, least) {
			break
		}
	}
	return r
}

// Metrics returns how the database does. It waits for a sync of the log at
// most, and may be called at any time, after Close too.
func (db *Database) Metrics() Metrics {
	s := db.committer.Stats()
	m := Metrics{
		Commits:   s.Commits.Load(),
		Conflicts: s.Conflicts.Load(),
		TooOld:    s.TooOld.Load(),
		Failed:    s.Failed.Load(),
		Refused:   s.Refused.Load(),
		Retries:   db.retries.Load(),
		BatchSize: readHistogram(&s.BatchSize, int64(1)),
		Sync:      Histogram[time.Duration]{Buckets: []Bucket[time.Duration]{}}, // of a database in memory
		Version:   db.head.Published().Version(),
		Watches:   db.watches.Count(),
		Backups:   db.backups.Load(),
	}
	m.OldestVersion, m.Views, m.HistoryBytes = db.head.Kept()
	m.QueuedCommits, m.QueuedBytes = db.committer.QueueSize()
	if db.disk != nil {
		db.disk.measure(&m, s)
	}
	return m
}
