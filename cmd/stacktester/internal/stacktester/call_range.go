// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

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
		c.fault = fmt.Errorf("%d is not a streaming mode", number)
		return 0
	}
}

// pushRange pushes the pairs of a range whose keys begin with prefix, packed
// as one tuple.
func (c *call) pushRange(r kv.SelectorRange, o kv.RangeOptions, prefix []byte) error {
	if c.fault != nil {
		return c.fault
	}
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
