// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Absent is what get answers for a key that is not there.
const Absent = "‹absent›"

func Texts(pairs []kv.KeyValue) []string {
	texts := []string{}
	for _, pair := range pairs {
		texts = append(texts, fmt.Sprintf("%s=%s", pair.Key, pair.Value))
	}
	return texts
}

// Span is the range from one key to another.
func Span(from, to string) kv.KeyRange { return kv.KeyRange{Begin: []byte(from), End: []byte(to)} }

// Model is a database as a sorted map: the naive meaning of every call.
type Model map[string]string

func (m Model) Keys() []string { return slices.Sorted(maps.Keys(m)) }

// Position is the index of the key that a selector names, or one outside.
func (m Model) Position(sel kv.KeySelector) int {
	keys := m.Keys()
	at, exact := slices.BinarySearch(keys, string(sel.Key))
	if !exact || !sel.OrEqual {
		at-- // the last key less than sel.Key
	}
	return at + sel.Offset
}

func (m Model) Key(sel kv.KeySelector) string {
	keys, at := m.Keys(), m.Position(sel)
	switch {
	case at < 0:
		return ""
	case at >= len(keys):
		return "\xff"
	}
	return keys[at]
}

func (m Model) Scan(r kv.SelectorRange, o kv.RangeOptions) []string {
	keys := m.Keys()
	bound := func(sel kv.KeySelector) int { return min(max(m.Position(sel), 0), len(keys)) }
	from, to := bound(r.Begin), bound(r.End)
	texts := []string{}
	for _, k := range keys[from:max(from, to)] {
		texts = append(texts, k+"="+m[k])
	}
	if o.Reverse {
		slices.Reverse(texts)
	}
	if o.Limit > 0 && o.Limit < len(texts) {
		texts = texts[:o.Limit]
	}
	return texts
}

func (m Model) ClearRange(r kv.KeyRange) {
	maps.DeleteFunc(m, func(k, _ string) bool { return k >= string(r.Begin) && k < string(r.End) })
}

func UserKeys() kv.KeyRange { return kv.KeyRange{Begin: []byte{}, End: []byte{0xff}} }
