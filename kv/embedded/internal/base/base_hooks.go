// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ticket"
)

// What follows is for tests of the packages above: they look at the base, and bring
// about moments that are rare.

// Store returns the Pebble store.
func (b *Base) Store() *pebble.DB { return b.db }

// CompactAll compacts all tables.
func (b *Base) CompactAll(ctx context.Context) error {
	return b.db.Compact(ctx, []byte{ownSpace}, []byte{spaceEnd}, false)
}

// IsSealed reports whether the base has failed and writes nothing more.
func (b *Base) IsSealed() bool { return b.fs.sealed() }

// OldestReaderVersion returns the version below which readers are too old.
func (b *Base) OldestReaderVersion() int64 { return b.oldestReader.Load() }

// RowBytes returns the size of the row cache.
func (b *Base) RowBytes() int64 { return b.rows.size() }

// AddRow adds to the row cache what a ticket's holder has read.
func (b *Base) AddRow(t ticket.Ticket, key, value []byte) { b.rows.add(t, key, value, true) }

// HoldRows keeps the row cache from changing until resume is called.
func (b *Base) HoldRows() (resume func()) {
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
