// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"sync"

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
	return reads{&rounds{meter: m}, tx}
}

// Database returns db with the calls of all its transactions counted.
func (m *Meter) Database(db kv.Database) kv.Database { return database{db, m} }

func (m *Meter) add(change func(*Usage)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.usage)
}
