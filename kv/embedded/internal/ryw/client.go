// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// Client makes the transactions of one database: the part of FoundationDB's client
// that they share. It is safe for concurrent use.
type Client struct {
	engine   Engine
	defaults settings           // of each transaction
	sizes    rangeread.SizeHint // of the batches of range reads
}

// NewClient returns the client of an engine.
func NewClient(e Engine, d kv.TransactionDefaults) *Client {
	return &Client{engine: e, defaults: defaultSettings(d)}
}

// Begin returns a new transaction.
func (c *Client) Begin() *Transaction {
	t := &Transaction{client: c, engine: c.engine, settings: c.defaults, committed: -1, direct: &noDirectWrites}
	t.backoff = kv.Backoff{Initial: firstDelay, Max: max(t.settings.maxDelay, 1)}
	if t.settings.timeout > 0 {
		t.deadline = &deadline{began: time.Now()}
		t.setExpiry()
	}
	return t
}

// BeginReadOnly returns a new transaction for a function that only reads and cannot
// ask for the transaction's size. Such a transaction need not note what
// FoundationDB's client caches: only sizes would show it.
func (c *Client) BeginReadOnly() *Transaction {
	t := c.Begin()
	t.unmeasured = true
	return t
}
