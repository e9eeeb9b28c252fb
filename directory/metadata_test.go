// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestMetadata decodes everything that a layer has written, in a partition and outside,
// and finds each directory with its layer, its name and its integer.
func TestMetadata(t *testing.T) {
	db := enginetest.InProcess(t)
	ctx := t.Context()
	d, err := Root().CreateOrOpen(ctx, db, []string{"a", "b"}, ElementAs(0, Partition), As("shop"))
	if err != nil {
		t.Fatal(err)
	}
	note := d.Annotation("owner").Sub("note").Bytes()
	if err := db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(note, []byte("text")); return nil }); err != nil {
		t.Fatal(err)
	}
	outer := decodeAll(t, db, Root().Metadata())
	link := find(t, outer, func(e MetadataEntry) bool { return e.Kind == LinkEntry })
	if link.Name != "a" || !bytes.Equal(link.Node, Root().Metadata().Root()) {
		t.Errorf("the link is %+v", link)
	}
	if n, ok := Root().Metadata().Allocated(link.Prefix); !ok || find(t, outer, func(e MetadataEntry) bool { return e.Kind == AllocationEntry }).Number != n {
		t.Errorf("the prefix %x is not that of the integer that was allocated", link.Prefix)
	}
	inner := decodeAll(t, db, Root().Metadata().Partition(link.Prefix, []string{"a"}))
	if e := find(t, inner, func(e MetadataEntry) bool { return e.Kind == LayerEntry }); e.Layer != "shop" || !bytes.Equal(e.Node, d.prefix) {
		t.Errorf("the directory is %+v", e)
	}
	if e := find(t, inner, func(e MetadataEntry) bool { return e.Kind == AnnotationEntry }); e.Owner != "owner" || !bytes.HasSuffix(note, e.Rest) {
		t.Errorf("the annotation is %+v", e)
	}
	if e := find(t, inner, func(e MetadataEntry) bool { return e.Kind == WindowEntry }); e.Number != 0 || e.Count != 1 {
		t.Errorf("the window is %+v", e)
	}
}

// TestMetadataRefuses: what the layer does not write is an error that names the key.
func TestMetadataRefuses(t *testing.T) {
	m := Root().Metadata()
	newer := version{2, 0, 0}
	for name, pair := range map[string]kv.KeyValue{
		"no node":        {Key: []byte{0xfe, 0x30}},
		"no element":     {Key: m.tree.node([]byte{1}).Bytes()},
		"a word":         {Key: m.tree.node([]byte{1}).Sub([]byte("color")).Bytes()},
		"a text":         {Key: m.tree.node([]byte{1}).Sub("annotations", "x").Bytes()},
		"a far link":     {Key: m.tree.node([]byte{1}).linkKey("a"), Value: []byte{0xff}},
		"an empty link":  {Key: m.tree.node([]byte{1}).linkKey("a"), Value: []byte{}},
		"a half counter": {Key: m.tree.allocator.counters.Sub(0).Bytes(), Value: []byte{1}},
		"a half version": {Key: m.VersionKey(), Value: []byte{1}},
		"a number":       {Key: m.tree.node([]byte{1}).Sub(7).Bytes()},
		"another format": {Key: m.VersionKey(), Value: newer.encode()},
		"a full integer": {Key: m.AllocationKey(7), Value: []byte{1}},
	} {
		if _, err := m.Decode(pair); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func decodeAll(t *testing.T, db kv.Database, m Metadata) (all []MetadataEntry) {
	t.Helper()
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		all = nil
		pairs, err := tx.GetRange(m.Keys().Selectors(), kv.RangeOptions{}).Slice(t.Context())
		for _, pair := range pairs {
			e, wrong := m.Decode(pair)
			all, err = append(all, e), errors.Join(err, wrong)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func find(t *testing.T, all []MetadataEntry, is func(MetadataEntry) bool) (found MetadataEntry) {
	t.Helper()
	n := 0
	for _, e := range all {
		if is(e) {
			found, n = e, n+1
		}
	}
	if n != 1 {
		t.Fatalf("there are %d of %+v", n, all)
	}
	return found
}
