// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"bytes"
	"context"
	"fmt"
	"math/big"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// call is an instruction being executed. Its methods that pop operands panic with
// a fault if one is missing or of a wrong type.
type call struct {
	*machine
	ctx      context.Context
	number   int
	name     string
	operands tuple.Tuple

	tx    *transaction       // the one in use
	view  kv.ReadTransaction // tx or its snapshot; nil if the instruction is for the database
	read  kv.ReadTransactor  // tx, its snapshot or the database
	write kv.Transactor      // tx or the database
}

// fault is what is wrong with the operands of an instruction.
type fault struct{ error }

func faultf(format string, args ...any) fault { return fault{fmt.Errorf(format, args...)} }

func (c *call) onDatabase() bool { return c.view == nil }

func (c *call) push(item any) { c.stack.push(entry{item, c.number}) }

// pop returns the topmost item and removes it.
func (c *call) pop() any { return c.popEntry().item }

func (c *call) popEntry() entry {
	e, err := c.stack.pop(c.ctx)
	if err != nil {
		panic(fault{err})
	}
	return e
}

// result pushes the result of an instruction, unless there is an error.
func (c *call) result(item any, err error) error {
	if err == nil {
		c.push(item)
	}
	return err
}

// popAs pops an item of a type.
func popAs[T any](c *call) T {
	item := c.pop()
	v, ok := item.(T)
	if !ok {
		panic(faultf("the operand %v is a %T, expected was a %T", item, item, v))
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
		panic(faultf("%d operands on a stack of %d items", n, len(c.stack)))
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
	if item == nil {
		return nil
	}
	v, ok := item.([]byte)
	if !ok {
		panic(faultf("the operand %v is neither bytes nor nil", item))
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
		panic(faultf("the operand %v is not an integer", v))
	}
}

// popSized pops bytes of a length.
func (c *call) popSized(n int) []byte {
	b := c.popBytes()
	if len(b) != n {
		panic(faultf("a floating-point number of %d bytes, expected were %d", len(b), n))
	}
	return b
}

// mutate writes in the transaction or, with a commit of its own, to the
// database.
func (c *call) mutate(write func(kv.Transaction)) error {
	if !c.onDatabase() {
		write(c.tx)
		return nil
	}
	err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		write(tx)
		return nil
	})
	return c.result(absent, err)
}

func (c *call) popSelector() kv.KeySelector {
	return kv.KeySelector{Key: c.popBytes(), OrEqual: c.popCondition(), Offset: int(c.popInteger())}
}

func (c *call) popRangeOptions() kv.RangeOptions {
	return kv.RangeOptions{Limit: int(c.popInteger()), Reverse: c.popCondition(), Mode: c.popMode()}
}

// popMode pops a streaming mode, numbered as in FoundationDB's C library.
func (c *call) popMode() kv.StreamingMode {
	switch number := c.popInteger(); {
	case number == -2:
		return kv.ModeWantAll
	case number == -1:
		return kv.ModeIterator
	case number >= 0 && number <= 4:
		return kv.ModeExact + kv.StreamingMode(number)
	default:
		panic(faultf("%d is not a streaming mode", number))
	}
}

// pushRange pushes the pairs of a range, packed as one tuple. It leaves out keys
// that do not begin with prefix.
func (c *call) pushRange(r kv.SelectorRange, o kv.RangeOptions, prefix []byte) error {
	pairs, err := kv.ReadTransact(c.ctx, c.read, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(r, o).Slice(c.ctx)
	})
	if err != nil {
		return err
	}
	var packed []byte
	for _, pair := range pairs {
		if bytes.HasPrefix(pair.Key, prefix) {
			packed = tuple.AppendBytes(tuple.AppendBytes(packed, pair.Key), pair.Value)
		}
	}
	c.push(append([]byte{}, packed...))
	return nil
}

// directory returns the verbs of the current directory.
func (c *call) directory() verbs {
	v, ok := c.dirs.list[c.dirs.index].(verbs)
	if !ok {
		panic(faultf("%T has no directories", c.dirs.list[c.dirs.index]))
	}
	return v
}

// subspace returns that of the current directory.
func (c *call) subspace() tuple.Subspace {
	s, err := subspaceOf(c.dirs.list[c.dirs.index])
	if err != nil {
		panic(fault{err})
	}
	return s
}

// popPath pops a path.
func (c *call) popPath() []string {
	items := c.popItems()
	path := make([]string, len(items))
	for i, item := range items {
		name, ok := item.(string)
		if !ok {
			panic(faultf("the element %v of a path is not a string", item))
		}
		path[i] = name
	}
	return path
}

// popOptionalPath pops a path if the topmost item says that there is one.
func (c *call) popOptionalPath() []string {
	if c.popInteger() == 0 {
		return nil
	}
	return c.popPath()
}

// popLayer pops a layer: empty and absent ones are not checked.
func (c *call) popLayer() []directory.Expect {
	layer := c.popOptionalBytes()
	if len(layer) == 0 {
		return nil
	}
	return []directory.Expect{directory.As(string(layer))}
}
