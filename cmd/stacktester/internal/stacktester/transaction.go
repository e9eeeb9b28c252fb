// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// transactions are those that the programs of a run share by name.
type transactions struct {
	db     kv.Database
	mu     sync.Mutex
	byName map[string]*transaction
}

// transaction is one of them.
type transaction struct {
	kv.Transaction
	cancelled atomic.Bool // by the program, and not reset since
}

// named returns the transaction of that name, which is begun if there is none.
func (t *transactions) named(name string) (*transaction, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tx, ok := t.byName[name]; ok {
		return tx, nil
	}
	return t.begin(name)
}

// renew begins another transaction of that name.
func (t *transactions) renew(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, ok := t.byName[name]; ok {
		old.Cancel()
	}
	_, err := t.begin(name)
	return err
}

func (t *transactions) begin(name string) (*transaction, error) {
	tx, err := t.db.Begin()
	if err != nil {
		return nil, err
	}
	t.byName[name] = &transaction{Transaction: tx}
	return t.byName[name], nil
}

func (t *transactions) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tx := range t.byName {
		tx.Cancel()
	}
}

var transactionOperations = map[string]operation{
	"NEW_TRANSACTION":          func(c *call) error { return c.shared.renew(c.current) },
	"USE_TRANSACTION":          useTransaction,
	"ON_ERROR":                 onError,
	"COMMIT":                   func(c *call) error { c.push(pendingSignal(c.tx.CommitAsync())); return nil },
	"RESET":                    reset,
	"CANCEL":                   cancel,
	"GET_READ_VERSION":         getReadVersion,
	"SET_READ_VERSION":         func(c *call) error { c.tx.SetReadVersion(c.version); return nil },
	"GET_COMMITTED_VERSION":    getCommittedVersion,
	"GET_VERSIONSTAMP":         func(c *call) error { c.push(pendingBytes(c.tx.GetVersionstamp())); return nil },
	"GET_APPROXIMATE_SIZE":     getApproximateSize,
	"GET_ESTIMATED_RANGE_SIZE": func(c *call) error { c.popBytes(); c.popBytes(); return usable(c, "GOT_ESTIMATED_RANGE_SIZE") },
	"GET_RANGE_SPLIT_POINTS": func(c *call) error {
		c.popBytes()
		c.popBytes()
		c.popInteger()
		return usable(c, "GOT_RANGE_SPLIT_POINTS")
	},
	"DISABLE_WRITE_CONFLICT": func(c *call) error { return c.tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0) },
}

// useTransaction changes to the transaction of a name; it is begun by the next
// instruction if there is none.
func useTransaction(c *call) error {
	c.current = string(c.popBytes())
	return nil
}

func onError(c *call) error {
	code := c.popInteger()
	if err := c.tx.OnError(c.ctx, kv.NewError(kv.Code(code), "the program says so")); err != nil {
		return err
	}
	c.tx.cancelled.Store(false)
	c.push(absent)
	return nil
}

func reset(c *call) error {
	c.tx.Reset()
	c.tx.cancelled.Store(false)
	return nil
}

func cancel(c *call) error {
	c.tx.Cancel()
	c.tx.cancelled.Store(true)
	return nil
}

func getReadVersion(c *call) error {
	version, err := c.view.GetReadVersion().Get(c.ctx)
	if err == nil {
		c.version = version
		c.push([]byte("GOT_READ_VERSION"))
	}
	return err
}

func getCommittedVersion(c *call) error {
	version, err := c.tx.GetCommittedVersion()
	if err == nil {
		c.version = version
		c.push([]byte("GOT_COMMITTED_VERSION"))
	}
	return err
}

func getApproximateSize(c *call) error {
	_, err := c.tx.GetApproximateSize().Get(c.ctx)
	return c.result([]byte("GOT_APPROXIMATE_SIZE"), err)
}

// usable pushes a word in the place of a call that the contract of kv does not
// have. Like telling the transaction's size, such a call reports what was wrong
// with those before it, and unlike that it fails in a cancelled transaction.
func usable(c *call, word string) error {
	_, err := c.tx.GetApproximateSize().Get(c.ctx)
	if err == nil && c.tx.cancelled.Load() {
		err = kv.NewError(kv.CodeTransactionCancelled, "by the program")
	}
	return c.result([]byte(word), err)
}
