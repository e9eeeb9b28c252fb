// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// modelRead computes, from what a transaction sees, what a read of it returns.
type modelRead func(contents map[string]string) []string

func resultOf(value []byte) []string {
	if value == nil {
		return nil
	}
	return []string{string(value)}
}

func modelGet(key string) modelRead {
	return func(c map[string]string) []string {
		if value, ok := c[key]; ok {
			return []string{value}
		}
		return nil
	}
}

func modelGetKey(sel kv.KeySelector) modelRead {
	return func(c map[string]string) []string {
		keys := sortedKeys(c)
		at, found := slices.BinarySearch(keys, string(sel.Key))
		if found && sel.OrEqual {
			at++
		}
		switch at += sel.Offset - 1; {
		case at < 0:
			return []string{""}
		case at >= len(keys):
			return []string{"\xff"}
		}
		return keys[at : at+1]
	}
}

func modelGetRange(begin, end string, o kv.RangeOptions) modelRead {
	return func(c map[string]string) (result []string) {
		for _, key := range sortedKeys(c) {
			if begin <= key && key < end {
				result = append(result, key+"="+c[key])
			}
		}
		if o.Reverse {
			slices.Reverse(result)
		}
		if o.Limit > 0 && len(result) > o.Limit {
			result = result[:o.Limit]
		}
		return result
	}
}
