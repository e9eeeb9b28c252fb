// SPDX-License-Identifier: Apache-2.0

package token

import (
	"sync"
	"time"
)

// maxSeen bounds the tokens that a process remembers.
const maxSeen = 200_000

// cache remembers tokens that were looked up.
type cache struct {
	mu      sync.RWMutex
	entries map[hash]cached
}

// cached is what the store said of a token under a revision.
type cached struct {
	identity Identity
	revision int64
	expires  time.Time // zero: never
}

func (c cached) check(now time.Time) error {
	if !c.expires.IsZero() && !now.Before(c.expires) {
		return ErrExpired
	}
	return nil
}

func (c *cache) get(h hash, revision int64) (cached, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[h]
	return e, ok && e.revision == revision
}

// put remembers a token. A full cache forgets all: tokens are looked up again.
func (c *cache) put(h hash, e cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= maxSeen {
		c.entries = map[hash]cached{}
	}
	c.entries[h] = e
}
