// SPDX-License-Identifier: Apache-2.0

package message

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/persistable/wire"
)

// read reads an occurrence of the field, and returns its value, which was v before.
func (f *Field) read(v any, r *wire.Reader, s *wire.Strings, depth int) any {
	switch {
	case f.isPacked():
		list := v.([]any)
		for r.Repeated(f.scalar.wire) {
			list = append(list, f.scalar.read(r))
		}
		return list
	case f.IsList():
		return append(v.([]any), f.readValue(nil, r, s, depth))
	case f.IsMap():
		return f.readEntry(v.([]Entry), r, s, depth)
	}
	return f.readValue(v, r, s, depth)
}

// readValue reads one value. v is the message before it, or nil.
func (f *Field) readValue(v any, r *wire.Reader, s *wire.Strings, depth int) any {
	if f.Inner == nil {
		return f.scalar.read(r)
	}
	m, _ := v.(*Message)
	if m == nil {
		m = f.Inner.New()
	}
	if content := r.Message(); r.Err() == nil {
		r.Check(m.decode(content, s, depth-1))
	}
	return m
}

// readEntry reads an entry of a map, in place of the one before it with the same key.
func (f *Field) readEntry(entries []Entry, r *wire.Reader, s *wire.Strings, depth int) []Entry {
	e := Entry{Key: f.key.zero}
	if f.scalar != nil {
		e.Value = f.scalar.zero
	} else {
		e.Value = f.Inner.New()
	}
	inner := s.NewReader(r.Message())
	for inner.Next() {
		switch inner.Field() {
		case 1:
			e.Key = f.key.read(&inner)
		case 2:
			e.Value = f.readValue(e.Value, &inner, s, depth)
		default:
			inner.Skip()
		}
	}
	r.Check(inner.Err())
	return putEntry(entries, e)
}

// putEntry puts an entry into its place in the order of keys.
func putEntry(entries []Entry, e Entry) []Entry {
	at, found := slices.BinarySearchFunc(entries, e.Key, func(one Entry, key any) int { return compareKeys(one.Key, key) })
	if found {
		entries[at] = e
		return entries
	}
	return slices.Insert(entries, at, e)
}

// compareKeys compares two keys of a map.
func compareKeys(a, b any) int {
	switch x := a.(type) {
	case bool:
		y := b.(bool)
		return cmp.Compare(boolNumber(x), boolNumber(y))
	case int64:
		return cmp.Compare(x, b.(int64))
	case uint64:
		return cmp.Compare(x, b.(uint64))
	case string:
		return cmp.Compare(x, b.(string))
	}
	panic(fmt.Sprintf("message: %T is no key of a map", a)) // ParseKind has refused it
}

func boolNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}
