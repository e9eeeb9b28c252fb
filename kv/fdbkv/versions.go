// SPDX-License-Identifier: Apache-2.0

package fdbkv

import (
	"sync"
	"sync/atomic"
	"time"
)

// versionCache is the newest version that a Database has read at or committed. Weak reads
// read there (MaxStaleness of [kv.TransactionOptions]).
//
// Versions are noted before the program gets the result that it read at them, or the success of their
// commit. So what begins later with the cache's version sees all that the program has seen.
type versionCache struct {
	used atomic.Bool // some transaction may read weakly: from then on, reads note their versions

	mu      sync.Mutex
	version int64     // 0: none
	asked   time.Time // the version has every commit that was acknowledged before; zero: it cannot be used
	changed time.Time // the version must have been asked for after that
}

// use has reads note their versions from now on. What was read before is at no known version.
func (c *versionCache) use() {
	if !c.used.Swap(true) {
		c.expire()
	}
}

// note notes a version that was asked for, or a commit that was sent, at a time; zero: it is not known.
func (c *versionCache) note(version int64, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version <= 0 { // of a commit that wrote nothing
		return
	}
	c.version = max(c.version, version)
	if asked.After(c.asked) && !asked.Before(c.changed) { // a higher version has all that a lower one has
		c.asked = asked
	}
}

// fresh returns the version if it has every commit that was acknowledged so long ago, and is at least that
// given.
func (c *versionCache) fresh(staleness time.Duration, least int64) (version int64, ok bool) {
	if staleness == 0 {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, c.version > 0 && !c.asked.IsZero() && time.Since(c.asked) <= staleness && c.version >= least
}

// expire is called when the program has seen something at a version that is not known, or is told of a
// change: then only a version that is asked for from now on has it for certain.
func (c *versionCache) expire() {
	if !c.used.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.changed = time.Time{}, time.Now()
}

// reject forgets a version that the cluster cannot read at, or that a commit conflicts at, unless there is a
// newer one. What was asked for before may be older.
func (c *versionCache) reject(version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version {
		c.version, c.asked, c.changed = 0, time.Time{}, time.Now()
	}
}
