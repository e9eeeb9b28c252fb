// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"github.com/kazahana-db/kazahana/kv"
)

// startThread executes another program at the same time as this one. Run waits for both.
func startThread(c *call) error {
	prefix := c.popBytes()
	if c.fault != nil {
		return c.fault
	}
	m, ctx := c.machine, c.ctx
	m.threads.Go(func() {
		if err := newMachine(m.db, m.shared, prefix).run(ctx); err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.failed = append(m.failed, err)
		}
	})
	return nil
}

// waitEmpty waits until no key begins with a prefix: each look that finds one
// fails as a conflict would, so that the retry loop takes the next.
func waitEmpty(c *call) error {
	prefix := c.popBytes()
	if c.fault != nil {
		return c.fault
	}
	err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		pairs, err := tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Limit: 1}).Slice(c.ctx)
		if err == nil && len(pairs) > 0 {
			return kv.NewError(kv.CodeNotCommitted, "%x is not empty yet", prefix)
		}
		return err
	})
	if err == nil {
		c.push([]byte("WAITED_FOR_EMPTY"))
	}
	return err
}
