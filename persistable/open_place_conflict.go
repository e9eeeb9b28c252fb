// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/persistable/trace"
	"github.com/kazahana-db/kazahana/tuple"
)

// describeConflict says what a range of keys is, if it is in the store.
func (o openPlace) describeConflict(r kv.KeyRange) (c trace.Conflict, ok bool) {
	if o.store == nil {
		return c, false
	}
	c = trace.Conflict{Type: o.place.typ, Path: o.place.path, Range: r}
	if bytes.HasPrefix(r.Begin, o.store.header) {
		c.Header = true
		return c, true
	}
	if id, ok := cutKeyspace(&o.store.records, r); ok {
		if element, _ := sharedElements(id, r, 1); len(element) > 0 {
			c.ID = o.place.record.idValue(element)
		}
		return c, true
	}
	for i := range o.store.indexes {
		ix := &o.store.indexes[i]
		keyspace := scan.EntriesOf(ix)
		if values, ok := cutKeyspace(&keyspace, r); ok {
			c.Index, c.Fields = ix.Name, ix.Fields
			packed, n := sharedElements(values, r, len(ix.Fields))
			d := *ix.Definition
			d.Fields = ix.Fields[:n]
			c.Values, _ = d.Values(packed)
			return c, true
		}
	}
	return c, false
}

// cutKeyspace returns what follows prefix and shard in the first key of a range, if that
// is in the keyspace.
func cutKeyspace(k *scan.Keyspace, r kv.KeyRange) (suffix []byte, ok bool) {
	if !bytes.HasPrefix(r.Begin, k.Prefix) {
		return nil, false
	}
	_, suffix, err := k.Shards.Cut(r.Begin[len(k.Prefix):])
	return suffix, err == nil
}

// sharedElements returns the tuple elements, at most so many, with which the suffix of
// the first key of a range begins and which all keys of the range have.
func sharedElements(suffix []byte, r kv.KeyRange, most int) (packed []byte, n int) {
	head := r.Begin[:len(r.Begin)-len(suffix)]
	rest := suffix
	for n < most && len(rest) > 0 {
		next, err := tuple.Skip(rest)
		if err != nil {
			break
		}
		all := slices.Concat(head, suffix[:len(suffix)-len(next)])
		if bytes.Compare(kv.PrefixRange(all).End, r.End) < 0 {
			break
		}
		rest, n = next, n+1
	}
	return suffix[:len(suffix)-len(rest)], n
}
