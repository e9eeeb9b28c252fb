// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// Counts is what a program asked of a database.
type Counts struct {
	// Rounds is the number of read rounds: times at which the program could not
	// go on before an answer came. Reads that are started before any of them is
	// waited for share a round; each further batch of a range read is one.
	Rounds int
	// Gets is the number of point reads (Get and GetKey), free ones left out.
	Gets int
	// Ranges is the number of range reads, Batches that of their batches.
	Ranges, Batches int
	// Free is the number of reads that cost no round since their answer comes
	// with the read version: GetReadVersion and [kv.MetadataVersionKey].
	Free int
	// Writes is the number of Set, Clear, ClearRange and Atomic calls.
	Writes int
	// Watches is the number of watches.
	Watches int
	// Begins is the number of transactions, Commits that of their commits
	// (attempts, failed ones too), Retries that of successful OnErrors.
	Begins, Commits, Retries int
}

// Sub returns what was counted after before.
func (c Counts) Sub(before Counts) Counts {
	return Counts{
		Rounds: c.Rounds - before.Rounds, Gets: c.Gets - before.Gets,
		Ranges: c.Ranges - before.Ranges, Batches: c.Batches - before.Batches,
		Free: c.Free - before.Free, Writes: c.Writes - before.Writes, Watches: c.Watches - before.Watches,
		Begins: c.Begins - before.Begins, Commits: c.Commits - before.Commits, Retries: c.Retries - before.Retries,
	}
}

// String lists the counts that tell the cost of an operation.
func (c Counts) String() string {
	return fmt.Sprintf("%d rounds (%d gets, %d ranges in %d batches, %d free), %d writes, %d commits, %d retries",
		c.Rounds, c.Gets, c.Ranges, c.Batches, c.Free, c.Writes, c.Commits, c.Retries)
}

// Counter is a database that counts what is asked of it. It is safe for
// concurrent use, but rounds mean something only where one goroutine uses a
// transaction: they are counted for each transaction and added up.
type Counter struct {
	inner kv.Database

	mu     sync.Mutex
	counts Counts
}

// NewCounter wraps db. A read counts also where the engine answers it from the
// transaction's own writes, since a program cannot rely on that.
func NewCounter(db kv.Database) *Counter { return &Counter{inner: db} }

// Counts returns what was counted so far.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Measure runs fn and returns what it cost and its error.
func (c *Counter) Measure(fn func() error) (Counts, error) {
	before := c.Counts()
	err := fn()
	return c.Counts().Sub(before), err
}

func (c *Counter) add(change func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.counts)
}

// Begin implements [kv.Database].
func (c *Counter) Begin() (kv.Transaction, error) {
	tx, err := c.begin()
	if err != nil {
		return nil, err
	}
	return tx, nil
}

func (c *Counter) begin() (*countedTx, error) {
	inner, err := c.inner.Begin()
	if err != nil {
		return nil, err
	}
	c.add(func(n *Counts) { n.Begins++ })
	rounds := &rounds{counter: c}
	return &countedTx{countedView{rounds, inner}, inner}, nil
}

// Transact implements [kv.Transactor].
func (c *Counter) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := c.begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (c *Counter) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := c.begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// Close implements [kv.Database].
func (c *Counter) Close() error { return c.inner.Close() }
