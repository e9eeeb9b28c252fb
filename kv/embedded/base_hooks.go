// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// What follows is for tests of the packages above: they look at the base, and bring
// about moments that are rare.

// store returns the Pebble store.
func (b *base) store() *pebble.DB { return b.db }

// compactAll compacts all tables.
func (b *base) compactAll(ctx context.Context) error {
	return b.db.Compact(ctx, []byte{ownSpace}, []byte{spaceEnd}, false)
}

// isSealed reports whether the base has failed and writes nothing more.
func (b *base) isSealed() bool { return b.fs.sealed() }

// oldestReaderVersion returns the version below which readers are too old.
func (b *base) oldestReaderVersion() int64 { return b.oldestReader.Load() }

// rowBytes returns the size of the row cache.
func (b *base) rowBytes() int64 { return b.rows.size() }

// addRow adds to the row cache what a ticket's holder has read.
func (b *base) addRow(t ticket, key, value []byte) { b.rows.add(t, key, value, true) }

// holdRows keeps the row cache from changing until resume is called.
func (b *base) holdRows() (resume func()) {
	c := b.rows
	c.mu.Lock()
	for i := range c.parts {
		c.parts[i].mu.Lock()
	}
	return sync.OnceFunc(func() {
		c.mu.Unlock()
		for i := range c.parts {
			c.parts[i].mu.Unlock()
		}
	})
}

// setRunKeys sets from how many cleared keys on a run becomes one range tombstone,
// until reset is called.
func setRunKeys(n int) (reset func()) {
	before := runKeys
	runKeys = n
	return func() { runKeys = before }
}
