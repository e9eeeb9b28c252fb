// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/tuple"
)

var tupleOperations = map[string]operation{
	"TUPLE_PACK":                   tuplePack,
	"TUPLE_PACK_WITH_VERSIONSTAMP": tuplePackVersionstamped,
	"TUPLE_UNPACK":                 tupleUnpack,
	"TUPLE_RANGE":                  tupleRange,
	"TUPLE_SORT":                   tupleSort,
	"ENCODE_FLOAT":                 encodeFloat,
	"ENCODE_DOUBLE":                encodeDouble,
	"DECODE_FLOAT":                 decodeFloat,
	"DECODE_DOUBLE":                decodeDouble,
}

func tuplePack(c *call) error {
	packed, err := c.popItems().Pack()
	c.push(packed)
	return err
}

func tuplePackVersionstamped(c *call) error {
	prefix, items := c.popBytes(), c.popItems()
	switch incompleteStamps(items) {
	case 0:
		c.push([]byte("ERROR: NONE"))
	case 1:
		packed, err := items.PackVersionstamped(prefix)
		if err != nil {
			return err
		}
		c.push([]byte("OK"))
		c.push(packed)
	default:
		c.push([]byte("ERROR: MULTIPLE"))
	}
	return nil
}

func incompleteStamps(t tuple.Tuple) (n int) {
	for _, element := range t {
		switch v := element.(type) {
		case tuple.Tuple:
			n += incompleteStamps(v)
		case tuple.Versionstamp:
			if v.IsIncomplete() {
				n++
			}
		}
	}
	return n
}

func tupleUnpack(c *call) error {
	elements, err := tuple.Unpack(c.popBytes())
	if err != nil {
		return err
	}
	for _, element := range elements {
		packed, err := tuple.Tuple{element}.Pack()
		if err != nil {
			return err
		}
		c.push(packed)
	}
	return nil
}

func tupleRange(c *call) error {
	begin, end, err := c.popItems().Range()
	c.push(begin)
	c.push(end)
	return err
}

func tupleSort(c *call) error {
	items := c.popItems()
	tuples := make([]tuple.Tuple, len(items))
	for i, item := range items {
		packed, ok := item.([]byte)
		if !ok {
			return fmt.Errorf("the operand %v is not a packed tuple", item)
		}
		var err error
		if tuples[i], err = tuple.Unpack(packed); err != nil {
			return err
		}
	}
	slices.SortStableFunc(tuples, tuple.Compare)
	for _, t := range tuples {
		packed, err := t.Pack()
		if err != nil {
			return err
		}
		c.push(packed)
	}
	return nil
}

func encodeFloat(c *call) error {
	b := c.popSized(4)
	c.push(math.Float32frombits(binary.BigEndian.Uint32(b)))
	return nil
}

func encodeDouble(c *call) error {
	b := c.popSized(8)
	c.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	return nil
}

func decodeFloat(c *call) error {
	v := popAs[float32](c)
	c.push(binary.BigEndian.AppendUint32(nil, math.Float32bits(v)))
	return nil
}

func decodeDouble(c *call) error {
	v := popAs[float64](c)
	c.push(binary.BigEndian.AppendUint64(nil, math.Float64bits(v)))
	return nil
}
