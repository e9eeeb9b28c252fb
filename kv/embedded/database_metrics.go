// SPDX-License-Identifier: Apache-2.0

package embedded

// Metrics returns how the database does. It waits for a sync of the log at
// most, and may be called at any time, after Close too.
func (db *Database) Metrics() Metrics {
	s := &db.stats
	m := Metrics{
		Commits:   s.commits.Load(),
		Conflicts: s.conflicts.Load(),
		TooOld:    s.tooOld.Load(),
		Failed:    s.failed.Load(),
		Refused:   s.refused.Load(),
		Retries:   s.retries.Load(),
		BatchSize: readHistogram(&s.batchSize, int64(1)),
		Version:   db.head.now.Load().version,
		Watches:   db.watches.Count(),
		Backups:   s.backups.Load(),
	}
	m.OldestVersion, m.Views, m.HistoryBytes = db.head.kept()
	m.QueuedCommits, m.QueuedBytes = db.committer.queueSize()
	if db.disk != nil {
		db.disk.measure(&m, s)
	}
	return m
}
