// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"fmt"
	"math/big"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// call is an instruction being executed. Its methods pop operands; the first
// that is missing or of a wrong type sets fault, and all after it give zero.
type call struct {
	*machine
	ctx      context.Context
	number   int
	name     string
	operands tuple.Tuple
	fault    error

	tx    *transaction       // the one in use
	view  kv.ReadTransaction // tx or its snapshot; nil if the instruction is for the database
	read  kv.ReadTransactor  // tx, its snapshot or the database
	write kv.Transactor      // tx or the database
}

func (c *call) onDatabase() bool { return c.view == nil }

func (c *call) push(item any) { c.stack.push(entry{item, c.number}) }

// pop returns the topmost item and removes it.
func (c *call) pop() any { return c.popEntry().item }

func (c *call) popEntry() entry {
	if c.fault != nil {
		return entry{}
	}
	e, err := c.stack.pop(c.ctx)
	c.fault = err
	return e
}

// popAs pops an item of a type.
func popAs[T any](c *call) T {
	item := c.pop()
	v, ok := item.(T)
	if !ok && c.fault == nil {
		c.fault = fmt.Errorf("the operand %v is a %T, expected was a %T", item, item, v)
	}
	return v
}

func (c *call) popBytes() []byte   { return popAs[[]byte](c) }
func (c *call) popInteger() int64  { return popAs[int64](c) }
func (c *call) popCondition() bool { return c.popInteger() != 0 }

// popItems pops as many items as the topmost says.
func (c *call) popItems() tuple.Tuple {
	n := c.popInteger()
	if n < 0 || n > int64(len(c.stack)) {
		c.fault = fmt.Errorf("%d operands on a stack of %d items", n, len(c.stack))
		return nil
	}
	t := make(tuple.Tuple, n)
	for i := range t {
		t[i] = c.pop()
	}
	return t
}

// popOptionalBytes pops bytes or nil.
func (c *call) popOptionalBytes() []byte {
	item := c.pop()
	if item == nil || c.fault != nil {
		return nil
	}
	v, ok := item.([]byte)
	if !ok {
		c.fault = fmt.Errorf("the operand %v is neither bytes nor nil", item)
	}
	return v
}

// popNumeral pops an integer of any size.
func (c *call) popNumeral() *big.Int {
	switch v := c.pop().(type) {
	case int64:
		return big.NewInt(v)
	case uint64:
		return new(big.Int).SetUint64(v)
	case *big.Int:
		return v
	default:
		if c.fault == nil {
			c.fault = fmt.Errorf("the operand %v is not an integer", v)
		}
		return new(big.Int)
	}
}

// popSized pops bytes of a length.
func (c *call) popSized(n int) []byte {
	b := c.popBytes()
	if len(b) != n && c.fault == nil {
		c.fault = fmt.Errorf("a floating-point number of %d bytes, expected were %d", len(b), n)
	}
	return b
}

// mutate writes in the transaction or, with a commit of its own, to the
// database.
func (c *call) mutate(write func(kv.Transaction)) error {
	if c.fault != nil {
		return c.fault
	}
	if !c.onDatabase() {
		write(c.tx)
		return nil
	}
	err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		write(tx)
		return nil
	})
	if err == nil {
		c.push(absent)
	}
	return err
}
