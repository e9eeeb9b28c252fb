// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// sealBatch fixes the view of a batch that takes no more.
func (c *Committer) sealBatch(b *batch) {
	if b.accepted == 0 {
		return
	}
	b.view, b.cost = c.window.Snapshot(b.version, b.changes)
}

// commitBatch makes the batch durable and publishes it. If the disk fails, what it
// has done to the window is never published, and nothing is committed after it.
func (c *Committer) commitBatch(b *batch) {
	if b.accepted == 0 {
		c.head.Abandon()
		return
	}
	if err := c.persistBatch(b); err != nil {
		c.head.Abandon()
		b.refuse(err)
		return
	}
	c.head.Publish(b.view, b.cost)
	b.published = true
}

// answerRequests fires the watches on what the batch has changed, arms those of its
// transactions, and tells them what became of them. It is done with the batch.
func (c *Committer) answerRequests(b *batch) {
	c.stats.countBatch(b)
	if b.published {
		c.watches.FireChanged(b.view, b.changes)
	}
	for _, r := range b.requests {
		if b.published && r.err == nil {
			c.Arm(r.Watches)
		}
	}
	for _, r := range b.requests {
		r.Finisher.Finish(txn.Outcome{Version: b.version, Index: r.index, Err: r.err, Conflicts: r.conflicts})
		r.reset()
		c.requests.Put(r)
	}
	clear(b.requests)
	clear(b.changes)
	b.requests, b.changes, b.accepted, b.view, b.published = b.requests[:0], b.changes[:0], 0, nil, false
	if cap(b.frame) > 1<<20 {
		b.frame = nil
	}
	c.batches.Put(b)
}

// Arm arms watches. It does not wait.
func (c *Committer) Arm(watches []*watch.Watch) {
	c.watches.Arm(c.newestView, watches, c.readers.Start)
}

// newestView returns the newest view as watches compare it.
func (c *Committer) newestView() watch.View { return c.head.Published() }

// persistBatch makes a batch durable.
func (c *Committer) persistBatch(b *batch) error {
	if c.log == nil {
		return nil
	}
	if err := c.fault.Get(); err != nil {
		return err // the batch before was not written, or not for certain
	}
	if err := c.log.Append(b.version, b.frame); err != nil {
		return unknownOutcome(c.fault.Raise("committing", err))
	}
	return nil
}

// unknownOutcome is the error of a commit that was being made durable when the
// disk failed.
func unknownOutcome(err error) error {
	return fmt.Errorf("embedded: the commit may or may not be found when the database is opened again: %w: %w", kv.ErrOutcomeUnknown, err)
}
