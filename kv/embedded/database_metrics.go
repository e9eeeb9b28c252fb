// SPDX-License-Identifier: Apache-2.0

package embedded

import "time"

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
