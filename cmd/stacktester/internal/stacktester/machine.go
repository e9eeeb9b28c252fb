// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Run executes the program whose instructions are in the range of the tuple
// (prefix), with those that it starts, and returns when all have
// ended. Errors of the engine are items of the program's stack; the error that
// Run returns means that a program could not be executed.
func Run(ctx context.Context, db kv.Database, prefix []byte) error {
	shared := &transactions{db: db, byName: map[string]*transaction{}}
	defer shared.cancel()
	return newMachine(db, shared, prefix).run(ctx)
}

// machine executes one program. Several share a database and its named
// transactions.
type machine struct {
	db      kv.Database
	shared  *transactions
	prefix  []byte
	current string // the name of the transaction in use
	version int64  // the one last seen
	stack   stack
	dirs    directories
	known   map[string]operation // the instructions by name

	threads sync.WaitGroup
	mu      sync.Mutex
	failed  []error // of threads
}

func newMachine(db kv.Database, shared *transactions, prefix []byte) *machine {
	return &machine{db: db, shared: shared, prefix: prefix, current: string(prefix), dirs: newDirectories(), known: operations()}
}

func (m *machine) run(ctx context.Context) error {
	err := m.execute(ctx)
	m.threads.Wait()
	return errors.Join(append(m.failed, err)...)
}

func (m *machine) execute(ctx context.Context) error {
	number := 0
	for pair, err := range program(ctx, m.db, m.prefix) {
		if err != nil {
			return fmt.Errorf("program %q: reading: %w", m.prefix, err)
		}
		if err := m.step(ctx, number, pair.Value); err != nil {
			return fmt.Errorf("program %q: instruction %d: %w", m.prefix, number, err)
		}
		number++
	}
	return nil
}

// operation executes an instruction. An error with FoundationDB's code is
// pushed, any other ends the program.
type operation func(*call) error

// execute executes the instruction. A fault of its operands is its error.
func (op operation) execute(c *call) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			err = r.error
		default:
			panic(r)
		}
	}()
	return op(c)
}

// operations returns all instructions by name, without the suffixes that say
// where they take effect.
func operations() map[string]operation {
	all := map[string]operation{}
	for _, group := range []map[string]operation{
		dataOperations, transactionOperations, readOperations, writeOperations, tupleOperations, directoryOperations(),
		{"START_THREAD": startThread, "WAIT_EMPTY": waitEmpty, "UNIT_TESTS": unitTests},
	} {
		for name, op := range group {
			all[name] = op
		}
	}
	return all
}

func (m *machine) step(ctx context.Context, number int, packed []byte) error {
	c, err := m.decode(ctx, number, packed)
	if err != nil {
		return err
	}
	op, known := m.known[c.name]
	if !known {
		return fmt.Errorf("%s is not known (tenants are not: run with --no-tenants)", c.name)
	}
	err = op.execute(c)
	if code := kv.CodeOf(err); code != 0 {
		c.push(errorItem(code))
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

func (m *machine) decode(ctx context.Context, number int, packed []byte) (*call, error) {
	t, err := tuple.Unpack(packed)
	if err != nil {
		return nil, err
	}
	if len(t) == 0 {
		return nil, errors.New("it is empty")
	}
	name, ok := t[0].(string)
	if !ok {
		return nil, fmt.Errorf("%v is not a name", t[0])
	}
	tx, err := m.shared.named(m.current)
	if err != nil {
		return nil, err
	}
	c := &call{machine: m, ctx: ctx, number: number, operands: t[1:], tx: tx, name: name, view: tx, write: tx, read: tx}
	if rest, ok := strings.CutSuffix(name, "_DATABASE"); ok {
		c.name, c.view, c.write, c.read = rest, nil, m.db, m.db
	}
	if rest, ok := strings.CutSuffix(name, "_SNAPSHOT"); ok {
		c.name, c.view = rest, tx.Snapshot()
		c.read = c.view
	}
	return c, nil
}

// startThread executes another program at the same time as this one. Run waits for both.
func startThread(c *call) error {
	prefix := c.popBytes()
	m, ctx := c.machine, c.ctx
	m.threads.Go(func() {
		if err := newMachine(m.db, m.shared, prefix).run(ctx); err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.failed = append(m.failed, err)
		}
	})
	return nil
}

// waitEmpty waits until no key begins with a prefix: each look that finds one
// fails as a conflict would, so that the retry loop takes the next.
func waitEmpty(c *call) error {
	prefix := c.popBytes()
	err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		pairs, err := tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Limit: 1}).Slice(c.ctx)
		if err == nil && len(pairs) > 0 {
			return kv.NewError(kv.CodeNotCommitted, "%x is not empty yet", prefix)
		}
		return err
	})
	return c.result([]byte("WAITED_FOR_EMPTY"), err)
}

// pageSize is how many instructions one transaction reads: few enough to have
// them long before the transaction is too old.
const pageSize = 5000

// program yields the pairs in the range of the tuple (prefix). They are read
// in pages, so that a program may be of any length and take any time.
func program(ctx context.Context, db kv.Database, prefix []byte) iter.Seq2[kv.KeyValue, error] {
	begin, end, err := tuple.Tuple{prefix}.Range()
	left := kv.KeyRange{Begin: begin, End: end}
	return func(yield func(kv.KeyValue, error) bool) {
		for err == nil {
			var page []kv.KeyValue
			page, err = readPage(ctx, db, left)
			for _, pair := range page {
				if !yield(pair, nil) {
					return
				}
			}
			if err == nil && len(page) < pageSize {
				return
			}
			if err == nil {
				left.Begin = kv.Successor(page[len(page)-1].Key)
			}
		}
		yield(kv.KeyValue{}, err)
	}
}

func readPage(ctx context.Context, db kv.Database, r kv.KeyRange) ([]kv.KeyValue, error) {
	return kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: pageSize, Mode: kv.ModeWantAll}).Slice(ctx)
	})
}
