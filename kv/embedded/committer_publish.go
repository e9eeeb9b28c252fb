// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// sealBatch fixes the view of a batch that takes no more.
func (c *committer) sealBatch(b *batch) {
	if b.accepted == 0 {
		return
	}
	if slices.ContainsFunc(b.changes, func(m mutation.Mutation) bool { return m.Covers(metadataKey) }) {
		c.metadata = c.currentValue(metadataKey)
	}
	b.cost = c.window.entries.TakeCopied()
	for i := range b.changes {
		b.cost += int64(len(b.changes[i].Key)+len(b.changes[i].Value)) + itemCost
	}
	b.view = &view{version: b.version, entries: c.window.entries.Snapshot(), vacant: c.vacant.Snapshot(), base: c.base, reports: c.reports, metadata: c.metadata}
}

// commitBatch makes the batch durable and publishes it. If the disk fails, what it
// has done to the window is never published, and nothing is committed after it.
func (c *committer) commitBatch(b *batch) {
	if b.accepted == 0 {
		c.head.abandon()
		return
	}
	if err := c.persistBatch(b); err != nil {
		c.head.abandon()
		b.refuse(err)
		return
	}
	c.head.publish(b.view, b.cost)
	b.published = true
}

// answerRequests fires the watches on what the batch has changed, arms those of its
// transactions, and tells them what became of them. It is done with the batch.
func (c *committer) answerRequests(b *batch) {
	c.stats.countBatch(b)
	if b.published {
		c.watches.FireChanged(engineView{b.view}, b.changes)
	}
	for _, r := range b.requests {
		if b.published && r.err == nil {
			c.watches.Arm(c.head.published, r.Watches)
		}
	}
	for _, r := range b.requests {
		r.Finisher.Finish(txn.Outcome{Version: b.version, Index: r.index, Err: r.err, Conflicts: r.conflicts})
	}
	clear(b.requests)
	clear(b.changes)
	b.requests, b.changes, b.accepted, b.view, b.published = b.requests[:0], b.changes[:0], 0, nil, false
	if cap(b.frame) > 1<<20 {
		b.frame = nil
	}
	c.batches.Put(b)
}

// persistBatch makes a batch durable.
func (c *committer) persistBatch(b *batch) error {
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
