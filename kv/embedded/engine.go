// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"iter"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/readers"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// engine is a database as its transactions use it.
type engine struct{ db *Database }

// Newest implements [ryw.Engine].
func (e *engine) Newest() ryw.View { return engineView{e.db.head.Newest()} }

// At implements [ryw.Engine].
func (e *engine) At(version int64) (ryw.View, error) {
	v, err := e.db.head.At(version)
	if err != nil {
		return nil, err
	}
	return engineView{v}, nil
}

// CheckAge implements [ryw.Engine].
func (e *engine) CheckAge(version int64) error { return e.db.head.CheckAge(version) }

// Closed implements [ryw.Engine].
func (e *engine) Closed() bool { return e.db.closed.Load() }

// Start implements [ryw.Engine].
func (e *engine) Start(t readers.Task) { e.db.readers.Start(t) }

// Commit implements [ryw.Engine].
func (e *engine) Commit(r *txn.Request) { e.db.committer.Commit(r) }

// Drive implements [ryw.Engine].
func (e *engine) Drive() { e.db.committer.Drive() }

// NewWatch implements [ryw.Engine].
func (e *engine) NewWatch(key, value []byte) (*watch.Watch, error) {
	return e.db.watches.Add(key, value)
}

// Arm implements [ryw.Engine].
func (e *engine) Arm(watches []*watch.Watch) { e.db.committer.Arm(watches) }

// Sample implements [ryw.Engine].
func (e *engine) Sample(r kv.KeyRange) iter.Seq2[[]byte, int64] {
	return func(yield func([]byte, int64) bool) {
		for _, s := range e.db.head.Newest().SampleRange(r.Begin, r.End) {
			if !yield(s.Key, s.Size) {
				return
			}
		}
	}
}

// CountRetry implements [ryw.Engine].
func (e *engine) CountRetry() { e.db.retries.Add(1) }
