// SPDX-License-Identifier: Apache-2.0

package token

import (
	"sync"
	"time"
)

// maxSeen bounds the tokens that a process remembers.
const maxSeen = 200_000

// maxAge is how long a process uses a token without reading it again, if the revision
// stays the same. A process that crashes between a reset and its announcement leaves the
// revision as it was: others accept the old token for no longer than this.
const maxAge = time.Minute

// cache remembers tokens that were looked up and found.
type cache struct {
	mu      sync.RWMutex
	entries map[hash]cachedToken
}

// cachedToken is a token as it was read from the store.
type cachedToken struct {
	identity Identity
	revision int64
	read     time.Time // by the Authority's clock
	expires  time.Time // zero: never
	invalid  bool      // the service made it, but it was reset
}

// isFresh reports whether the token need not be read again.
func (c cachedToken) isFresh(revision int64, now time.Time) bool {
	return c.isKept(revision, now, 0)
}

// isKept reports whether the token may be used if the store does not answer, for so long.
func (c cachedToken) isKept(revision int64, now time.Time, outage time.Duration) bool {
	age, most := now.Sub(c.read), maxAge
	if c.invalid {
		most = time.Second // an answer of the store may come after one that says that the outcome is unknown
	}
	return c.revision == revision && age >= 0 && age < most+outage
}

// answer returns the identity of the token if there is no error and it has not expired.
func (c cachedToken) answer(now time.Time, err error) (Identity, error) {
	if err != nil {
		return Identity{}, err
	}
	if c.invalid {
		return Identity{}, ErrInvalid
	}
	if !c.expires.IsZero() && !now.Before(c.expires) {
		return c.identity, ErrExpired
	}
	return c.identity, nil
}

func (c *cache) get(h hash) (cachedToken, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[h]
	return e, ok
}

// put remembers a token. A full cache forgets a hundredth of the others, at random.
func (c *cache) put(h hash, e cachedToken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[hash]cachedToken{}
	}
	if len(c.entries) >= maxSeen {
		c.removeOldest()
	}
	c.entries[h] = e
}

func (c *cache) removeOldest() {
	for h := range c.entries {
		delete(c.entries, h)
		if len(c.entries) <= maxSeen-maxSeen/100 {
			return
		}
	}
}

func (c *cache) remove(h hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, h)
}
