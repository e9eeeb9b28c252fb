// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

var readOperations = map[string]operation{
	"GET":                   get,
	"GET_KEY":               getKey,
	"GET_RANGE":             getRange,
	"GET_RANGE_STARTS_WITH": getRangeStartsWith,
	"GET_RANGE_SELECTOR":    getRangeSelector,
}

// get leaves the value pending, so that programs have several reads under way.
func get(c *call) error {
	key := c.bytes()
	if c.fault != nil {
		return c.fault
	}
	if !c.onDatabase() {
		c.push(pendingBytes(c.view.Get(key)))
		return nil
	}
	value, err := kv.ReadTransact(c.ctx, c.read, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get(key).Get(c.ctx)
	})
	if err == nil {
		c.push(orAbsent(value))
	}
	return err
}

func (c *call) selector() kv.KeySelector {
	return kv.KeySelector{Key: c.bytes(), OrEqual: c.condition(), Offset: int(c.integer())}
}

// getKey pushes the key that is selected, or, if that is outside a prefix, the
// nearest border of it: what lies around the program's keys is not compared.
func getKey(c *call) error {
	selector, prefix := c.selector(), c.bytes()
	if c.fault != nil {
		return c.fault
	}
	key, err := kv.ReadTransact(c.ctx, c.read, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.GetKey(selector).Get(c.ctx)
	})
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(key, prefix) {
		below := bytes.Compare(key, prefix) < 0
		if key = prefix; !below {
			key = kv.PrefixRange(prefix).End
		}
	}
	c.push(key)
	return nil
}

func getRange(c *call) error {
	r := kv.KeyRange{Begin: c.bytes(), End: c.bytes()}
	return c.pushRange(r.Selectors(), c.rangeOptions(), nil)
}

func getRangeStartsWith(c *call) error {
	prefix := c.bytes()
	return c.pushRange(kv.PrefixRange(prefix).Selectors(), c.rangeOptions(), nil)
}

func getRangeSelector(c *call) error {
	r := kv.SelectorRange{Begin: c.selector(), End: c.selector()}
	return c.pushRange(r, c.rangeOptions(), c.bytes())
}

func (c *call) rangeOptions() kv.RangeOptions {
	return kv.RangeOptions{Limit: int(c.integer()), Reverse: c.condition(), Mode: c.mode()}
}

// mode pops a streaming mode, numbered as in FoundationDB's C library.
func (c *call) mode() kv.StreamingMode {
	switch number := c.integer(); {
	case number == -2:
		return kv.ModeWantAll
	case number == -1:
		return kv.ModeIterator
	case number >= 0 && number <= 4:
		return kv.ModeExact + kv.StreamingMode(number)
	default:
		c.fault = fmt.Errorf("%d is no streaming mode", number)
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
