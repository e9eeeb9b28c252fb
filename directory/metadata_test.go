// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/tuple"
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

func FuzzDecode(f *testing.F) {
	space := tuple.NewSubspace([]byte{0xfe})
	f.Add(space.Sub(subdirs, "name").Bytes(), ownVersion.encode())
	f.Add(space.Sub([]byte("prefix"), []byte("layer")).Bytes(), []byte{})
	f.Add(space.Sub(64).Bytes(), []byte{1, 0, 0, 0, 0, 0, 0, 0})
	f.Add(space.Sub(-1).Bytes(), []byte{0, 0, 0, 0, 0, 0, 0, 0x80})
	f.Add([]byte{}, []byte("short"))
	f.Add([]byte{0xfe, 0x15}, []byte(nil))
	f.Add([]byte{0xfe, 0x01, 0xff}, []byte("0"))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if v, err := decodeVersion(key, value); corrupt(t, err) && !bytes.Equal(v.encode(), value) {
			t.Errorf("version %v from %x", v, value)
		}
		if name, err := decodeName(node{space}, key); corrupt(t, err) && !bytes.Equal(key, space.Sub(subdirs, name).Bytes()) {
			t.Errorf("name %q from %x", name, key)
		}
		if prefix, err := decodeNodePrefix(space, key); corrupt(t, err) && !bytes.HasPrefix(key, space.Sub(prefix).Bytes()) {
			t.Errorf("prefix %x from %x", prefix, key)
		}
		if start, err := decodeWindow(space, key); corrupt(t, err) && (start < 0 || start > maxWindowStart) {
			t.Errorf("window %d from %x", start, key)
		}
		if n, err := decodeCount(key, value); corrupt(t, err) && n < 0 {
			t.Errorf("count %d from %x", n, value)
		}
	})
}

// corrupt reports whether there is no error, and fails the test if there is
// one that is not ErrCorrupt.
func corrupt(t *testing.T, err error) bool {
	t.Helper()
	var typed *CorruptError
	if err != nil && (!errors.Is(err, ErrCorrupt) || !errors.As(err, &typed) || typed.Reason == "") {
		t.Errorf("%v is not a *CorruptError with a reason", err)
	}
	return err == nil
}

func TestDecode(t *testing.T) {
	space := tuple.NewSubspace([]byte{0xfe})
	if name, err := decodeName(node{space}, space.Sub(subdirs, "a/b\x00").Bytes()); err != nil || name != "a/b\x00" {
		t.Errorf("name %q, %v", name, err)
	}
	if prefix, err := decodeNodePrefix(space, space.Sub([]byte{0x15, 0}, []byte("layer")).Bytes()); err != nil || !bytes.Equal(prefix, []byte{0x15, 0}) {
		t.Errorf("prefix %x, %v", prefix, err)
	}
	if start, err := decodeWindow(space, space.Sub(1088).Bytes()); err != nil || start != 1088 {
		t.Errorf("window %d, %v", start, err)
	}
	if n, err := decodeCount(nil, []byte{5, 1, 0, 0, 0, 0, 0, 0}); err != nil || n != 261 {
		t.Errorf("count %d, %v", n, err)
	}
	got, err := decodeVersion(nil, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 0, 0})
	if diff := cmp.Diff(version{1, 2, 259}, got, cmp.AllowUnexported(version{})); diff != "" || err != nil {
		t.Errorf("version %v (-want +got):\n%s", err, diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	space := tuple.NewSubspace([]byte{0xfe})
	tests := []struct {
		name string
		err  error
	}{
		{"short version", second(decodeVersion(nil, []byte("short")))},
		{"long version", second(decodeVersion(nil, make([]byte, 13)))},
		{"name outside the node", second(decodeName(node{space}, []byte{0xfd}))},
		{"name that is a number", second(decodeName(node{space}, space.Sub(subdirs, 1).Bytes()))},
		{"two names", second(decodeName(node{space}, space.Sub(subdirs, "a", "b").Bytes()))},
		{"no link", second(decodeName(node{space}, space.Sub(1, "a").Bytes()))},
		{"prefix that is a string", second(decodeNodePrefix(space, space.Sub("a").Bytes()))},
		{"node outside the tree", second(decodeNodePrefix(space, []byte{1}))},
		{"negative window", second(decodeWindow(space, space.Sub(-64).Bytes()))},
		{"huge window", second(decodeWindow(space, space.Sub(int64(maxWindowStart)+1).Bytes()))},
		{"window with more", second(decodeWindow(space, space.Sub(64, 1).Bytes()))},
		{"short count", second(decodeCount(nil, []byte{1}))},
		{"empty count", second(decodeCount(nil, []byte{}))},
		{"negative count", second(decodeCount(nil, bytes.Repeat([]byte{0xff}, 8)))},
	}
	for _, test := range tests {
		if !errors.Is(test.err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", test.name, test.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestVersionSet: a version is known as long as a transaction that reads it
// may commit, counted from its last mark, and not for ever.
func TestVersionSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := versionSet{last: map[int64]time.Time{}}
		s.markVersion(1)
		time.Sleep(markLifetime / 2)
		s.markVersion(2)
		s.markVersion(1)
		for _, version := range []int64{1, 2} {
			if _, readable := s.startRead(nil, version); readable {
				t.Errorf("version %d is not known", version)
			}
		}
		time.Sleep(kv.MaxTransactionAge + time.Second)
		s.markVersion(3) // the first mark of 1 is old by now, the second is not
		if _, readable := s.startRead(nil, 1); readable {
			t.Error("version 1 was forgotten with its first mark")
		}
		time.Sleep(markLifetime + time.Second)
		for version := range int64(2 * keptMarks) {
			s.markVersion(version)
		}
		if _, readable := s.startRead(nil, 1); readable || len(s.last) != 2*keptMarks {
			t.Errorf("%d of %d versions are known", len(s.last), 2*keptMarks)
		}
		time.Sleep(markLifetime + time.Second)
		s.markVersion(3 * keptMarks)
		if len(s.last) != keptMarks || len(s.order) != keptMarks {
			t.Errorf("%d versions and %d marks are kept, want %d", len(s.last), len(s.order), keptMarks)
		}
	})
}

// TestSlowInvalidation: a transaction that has called Invalidate and takes longer than one may
// is too old, even if others call it at the same time, and so is retried.
func TestSlowInvalidation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		db, err := embedded.OpenMemory() // its clock is the bubble's
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		err = Invalidate(ctx, tx)
		time.Sleep(2*markLifetime + time.Second)
		err = errors.Join(err, db.Transact(ctx, func(tx kv.Transaction) error { return Invalidate(ctx, tx) }))
		_, ok, readErr := MetadataVersion(ctx, tx)
		if err = errors.Join(err, readErr); ok || err != nil {
			t.Errorf("MetadataVersion in the slow transaction: %v, %v", ok, err)
		}
		if err := tx.Commit(ctx); kv.CodeOf(err) != kv.CodeTransactionTooOld {
			t.Errorf("Commit = %v, want 1007", err)
		}
		tx.Cancel()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
