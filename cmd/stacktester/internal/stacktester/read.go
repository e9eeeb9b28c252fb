// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
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
	key := c.popBytes()
	if !c.onDatabase() {
		c.push(pendingBytes(c.view.Get(key)))
		return nil
	}
	value, err := kv.ReadTransact(c.ctx, c.read, func(tx kv.ReadTransaction) ([]byte, error) {
		return tx.Get(key).Get(c.ctx)
	})
	return c.result(orAbsent(value), err)
}

// getKey pushes the key that is selected, or, if that is outside a prefix, the
// nearest border of it: what lies around the program's keys is not compared.
func getKey(c *call) error {
	selector, prefix := c.popSelector(), c.popBytes()
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
	r := kv.KeyRange{Begin: c.popBytes(), End: c.popBytes()}
	return c.pushRange(r.Selectors(), c.popRangeOptions(), nil)
}

func getRangeStartsWith(c *call) error {
	prefix := c.popBytes()
	return c.pushRange(kv.PrefixRange(prefix).Selectors(), c.popRangeOptions(), nil)
}

func getRangeSelector(c *call) error {
	r := kv.SelectorRange{Begin: c.popSelector(), End: c.popSelector()}
	return c.pushRange(r, c.popRangeOptions(), c.popBytes())
}
