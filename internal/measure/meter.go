// SPDX-License-Identifier: Apache-2.0

// Package measure counts what operations ask of a database: rounds of reads, keys, bytes,
// retries. Tracers of layers and tests of costs are made with it.
//
//	var m measure.Meter
//	err := m.Database(db).Transact(ctx, func(tx kv.Transaction) error {
//		balance, err := tx.Get(account).Get(ctx)
//		if err != nil {
//			return err
//		}
//		tx.Set(account, add(balance, 10))
//		return nil
//	})
//	fmt.Println(m.Usage()) // 1 rounds (1 gets, …
//
// A wrapped database is safe for concurrent use; a wrapped transaction is as safe as
// package kv says.
package measure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Meter adds up what the transactions that it wraps ask of their engine. It is safe for
// concurrent use, but rounds mean something only where one goroutine uses a
// transaction: they are counted for each transaction and added up. The zero value is
// ready. A read counts also where the engine answers it from the transaction's own
// writes, since a program cannot rely on that.
type Meter struct {
	mu    sync.Mutex
	usage Usage
	waits Waits
}

// Waits is how long a program has waited for what every transaction needs, in all attempts, answered
// or not.
type Waits struct {
	// ReadVersion is the wait for read versions: with the first read of an attempt that is waited
	// for. Commit is that for commits.
	ReadVersion, Commit time.Duration
}

// Waits returns what was waited so far.
func (m *Meter) Waits() Waits {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waits
}

func (m *Meter) addWaits(w Waits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits.ReadVersion += w.ReadVersion
	m.waits.Commit += w.Commit
}

// Usage returns what was counted so far.
func (m *Meter) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

// Transaction returns tx with its calls counted.
func (m *Meter) Transaction(tx kv.Transaction) kv.Transaction { return newTransaction(m, tx) }

// ReadTransaction returns tx with its reads counted.
func (m *Meter) ReadTransaction(tx kv.ReadTransaction) kv.ReadTransaction {
	m.add(func(u *Usage) { u.Begins++ })
	return reads{&rounds{meter: m, view: tx}, tx}
}

// Database returns db with the calls of all its transactions counted.
func (m *Meter) Database(db kv.Database) kv.Database { return database{db, m} }

func (m *Meter) add(change func(*Usage)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.usage)
}

// Usage is what a program asked of a database, and what it got and gave.
type Usage struct {
	Counts

	// Pairs is how many pairs were read, BytesRead the length of their keys and values.
	// Reads are not counted if the program never took their results.
	Pairs, BytesRead int
	// BytesWritten is the length of what Set, Clear, ClearRange and Atomic were given, of
	// all attempts.
	BytesWritten int
}

// Sub returns what was used after before.
func (u Usage) Sub(before Usage) Usage {
	return Usage{
		Counts: u.Counts.Sub(before.Counts), Pairs: u.Pairs - before.Pairs,
		BytesRead: u.BytesRead - before.BytesRead, BytesWritten: u.BytesWritten - before.BytesWritten,
	}
}

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
	// (attempts, failed ones too), Retries that of successful calls of OnError.
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

// database is a database that counts its transactions.
type database struct {
	kv.Database
	meter *Meter
}

// Begin implements [kv.Database].
func (d database) Begin() (kv.Transaction, error) {
	tx, err := d.Database.Begin()
	if err != nil {
		return nil, err
	}
	return d.meter.Transaction(tx), nil
}

// Transact implements [kv.Transactor].
func (d database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (d database) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}
