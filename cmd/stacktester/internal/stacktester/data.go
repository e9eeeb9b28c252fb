// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

var dataOperations = map[string]operation{
	"PUSH":        pushOperand,
	"DUP":         duplicate,
	"EMPTY_STACK": func(c *call) error { c.stack = nil; return nil },
	"SWAP":        swap,
	"POP":         func(c *call) error { c.pop(); return nil },
	"SUB":         subtract,
	"CONCAT":      concatenate,
	"WAIT_FUTURE": waitFuture,
	"LOG_STACK":   logStack,
}

func pushOperand(c *call) error {
	if len(c.operands) != 1 {
		return fmt.Errorf("it has %d operands, expected was one", len(c.operands))
	}
	c.push(c.operands[0])
	return nil
}

func duplicate(c *call) error {
	top, err := c.stack.at(0)
	if err == nil {
		c.stack.push(*top)
	}
	return err
}

func swap(c *call) error {
	depth := c.popInteger()
	top, err := c.stack.at(0)
	if err != nil {
		return err
	}
	other, err := c.stack.at(depth)
	if err == nil {
		*top, *other = *other, *top
	}
	return err
}

func subtract(c *call) error {
	a, b := c.popNumeral(), c.popNumeral()
	difference := new(big.Int).Sub(a, b)
	if difference.IsInt64() {
		c.push(difference.Int64())
		return nil
	}
	c.push(difference)
	return nil
}

func concatenate(c *call) error {
	a, b := c.pop(), c.pop()
	if a, ok := a.([]byte); ok {
		if b, ok := b.([]byte); ok {
			c.push(append(append(make([]byte, 0, len(a)+len(b)), a...), b...))
			return nil
		}
	}
	if a, ok := a.(string); ok {
		if b, ok := b.(string); ok {
			c.push(a + b)
			return nil
		}
	}
	return errors.New("the operands are neither bytes nor strings both")
}

func waitFuture(c *call) error {
	c.stack.push(c.popEntry())
	return nil
}

const (
	logBatch   = 100   // items that one transaction logs
	logMaxSize = 40000 // bytes of an item that are logged
)

// logStack empties the stack into the database, the topmost items first.
func logStack(c *call) error {
	prefix := c.popBytes()
	var batch []kv.KeyValue
	for len(c.stack) > 0 {
		pair, err := logEntry(prefix, len(c.stack)-1, c.popEntry())
		if err != nil {
			return err
		}
		if batch = append(batch, pair); len(batch) == logBatch || len(c.stack) == 0 {
			if err := setAll(c.ctx, c.db, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

func logEntry(prefix []byte, index int, e entry) (kv.KeyValue, error) {
	key, err := tuple.NewSubspace(prefix).Pack(tuple.Tuple{index, e.number})
	if err != nil {
		return kv.KeyValue{}, err
	}
	value, err := tuple.Tuple{e.item}.Pack()
	return kv.KeyValue{Key: key, Value: value[:min(len(value), logMaxSize)]}, err
}

func setAll(ctx context.Context, db kv.Database, pairs []kv.KeyValue) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		for _, pair := range pairs {
			tx.Set(pair.Key, pair.Value)
		}
		return nil
	})
}
