// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestPathsRefused: whatever a path is made of, it is refused by every verb or
// names exactly one directory.
func TestPathsRefused(t *testing.T) {
	ctx, db, root := context.Background(), enginetest.Open(t), directory.Root()
	parent := mustDir(t)(root.Create(ctx, db, path("parent")))
	tests := []struct {
		name    string
		element string
		index   int
	}{
		{"empty", "", 0},
		{"invalid UTF-8", "a\xff", 0},
		{"too long", strings.Repeat("x", 10_000), 0},
		{"too long with its zero bytes escaped", strings.Repeat("\x00", 5_000), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := path("parent", test.element)
			calls := map[string]error{
				"CreateOrOpen":   second(root.CreateOrOpen(ctx, db, p)),
				"Create":         second(root.Create(ctx, db, p)),
				"Open":           second(root.Open(ctx, db, p)),
				"Exists":         second(root.Exists(ctx, db, p)),
				"List":           second(root.List(ctx, db, p)),
				"Remove":         root.Remove(ctx, db, p),
				"RemoveIfExists": second(root.RemoveIfExists(ctx, db, p)),
				"Move from":      second(root.Move(ctx, db, p, path("z"))),
				"Move to":        second(root.Move(ctx, db, path("parent"), path("z", test.element))),
				"relative":       second(parent.Create(ctx, db, path(test.element))),
				"cache":          second(cacheOpen(db, newCache(t, db, directory.CacheOptions{}), p)),
			}
			for call, err := range calls {
				tolerated := call == "Move to" && errors.Is(err, directory.ErrParentNotFound)
				if !tolerated && (!errors.Is(err, directory.ErrPath) || !strings.Contains(err.Error(), ": element 1 of ")) {
					t.Errorf("%s: %v, want ErrPath about element 1", call, err)
				}
			}
		})
	}
	if names := must[[]string](t)(root.List(ctx, db, nil)); len(names) != 1 {
		t.Errorf("directories were made: %q", names)
	}
}

func second[T any](_ T, err error) error { return err }

func TestOddPaths(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		ctx, root := context.Background(), directory.Root()
		names := []string{"\x00", "\x00\xc3\xbf", " ", "..", "/", "a", "a/b", "\U0001f426"}
		prefixes := map[string]string{}
		for _, name := range names {
			d := mustDir(t)(root.Create(ctx, db, path(name, "..")))
			prefixes[string(must[[]byte](t)(d.Prefix()))] = name
		}
		if diff := cmp.Diff(names, must[[]string](t)(root.List(ctx, db, nil))); diff != "" {
			t.Errorf("List (-want +got):\n%s", diff)
		}
		if len(prefixes) != len(names) {
			t.Errorf("%d prefixes for %d paths", len(prefixes), len(names))
		}
		longest := strings.Repeat("x", enginetest.LongestKey-20)
		wantPrefix(t, mustDir(t)(root.Create(ctx, db, path(longest))), mustDir(t)(root.Open(ctx, db, path(longest))))
		readDump(t, db, directory.Options{}).checkSound(t)
	})
}

// TestPartitionInside is how tenants are made: an inner element is a partition.
func TestPartitionInside(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		ctx, root := context.Background(), directory.Root()
		orders := path("tenants", "1", "orders")
		partition := directory.ElementAs(1, directory.Partition)
		d := mustDir(t)(root.CreateOrOpen(ctx, db, orders, partition, directory.As("orders")))
		wantPrefix(t, d, mustDir(t)(root.CreateOrOpen(ctx, db, orders, partition)))
		tenant := mustDir(t)(root.Open(ctx, db, orders[:2], directory.As(directory.Partition)))
		if _, err := tenant.Subspace(); !errors.Is(err, directory.ErrPartition) {
			t.Errorf("the subspace of a partition: %v", err)
		}
		if _, err := tenant.Prefix(); !errors.Is(err, directory.ErrPartition) {
			t.Errorf("the prefix of a partition: %v", err)
		}
		wantPrefix(t, d, mustDir(t)(tenant.Open(ctx, db, path("orders"), directory.As("orders"))))

		mustDir(t)(root.Create(ctx, db, path("tenants", "plain")))
		_, err := root.CreateOrOpen(ctx, db, path("tenants", "plain", "orders"), partition)
		if want := `: ("tenants", "plain") has the layer "", expected was "partition"`; !errors.Is(err, directory.ErrLayer) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("a plain directory where a partition is expected: %v", err)
		}
		if exists := must[bool](t)(root.Exists(ctx, db, path("tenants", "plain", "orders"))); exists {
			t.Error("created below it nevertheless")
		}
		transact(t, db, func(tx kv.Transaction) error {
			tx.Set(subspace(t, d).Sub("key").Bytes(), []byte("value"))
			return nil
		})
		if err := tenant.Remove(ctx, db, nil); err != nil {
			t.Fatal(err)
		}
		dump := readDump(t, db, directory.Options{})
		dump.checkSound(t)
		if len(dump.nodes) != 2 {
			t.Errorf("left: %v, want tenants and tenants/plain", dump.nodes)
		}
	})
}

func TestExpectOfMissingElement(t *testing.T) {
	ctx, db := context.Background(), enginetest.Open(t)
	for _, index := range []int{2, -2, 100} {
		if _, err := directory.Root().CreateOrOpen(ctx, db, path("a", "b"), directory.ElementAs(index, "x")); !errors.Is(err, directory.ErrPath) {
			t.Errorf("ElementAs(%d) of two elements: %v", index, err)
		}
	}
	a := mustDir(t)(directory.Root().Create(ctx, db, path("a")))
	b := mustDir(t)(a.Create(ctx, db, path("b", "c"), directory.ElementAs(0, "x")))
	if b.Layer() != "" || must[*directory.Directory](t)(a.Open(ctx, db, path("b"))).Layer() != "x" {
		t.Error("indices of a relative path do not begin with its first element")
	}
}

func TestOptionsValidate(t *testing.T) {
	space := func(s string) tuple.Subspace { return tuple.NewSubspace([]byte(s)) }
	tests := []struct {
		options directory.Options
		faults  int
	}{
		{directory.Options{}, 0},
		{directory.Options{Nodes: space("n"), Content: space("c")}, 0},
		{directory.Options{Nodes: space("nodes"), Content: space("n")}, 0},
		{directory.Options{Nodes: space("n"), Content: space("nc")}, 1},
		{directory.Options{Nodes: space("\xff"), Content: space("\xff\x01")}, 2},
	}
	for _, test := range tests {
		_, err := directory.New(test.options)
		faults := 0
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			faults = len(joined.Unwrap())
		}
		if faults != test.faults {
			t.Errorf("%v: %v, want %d faults", test.options, err, test.faults)
		}
	}
}

func TestManualPrefixes(t *testing.T) {
	ctx, db := context.Background(), enginetest.Open(t)
	layer := must[*directory.Layer](t)(directory.New(directory.Options{
		Nodes: tuple.NewSubspace([]byte("nodes")), Content: tuple.NewSubspace([]byte("c")), AllowManualPrefixes: true,
	}))
	mustDir(t)(layer.CreatePrefix(ctx, db, path("a"), []byte{0x41, 0}))
	for _, prefix := range []string{"", "\xff", "\xff\x01", "no", "nodes", "nodesX", "\x41", "\x41\x00", "\x41\x00\x01", strings.Repeat("x", 10_000)} {
		_, err := layer.CreatePrefix(ctx, db, path("b"), []byte(prefix))
		if !errors.Is(err, directory.ErrPrefixInUse) || !strings.Contains(err.Error(), "the given prefix") {
			t.Errorf("prefix %.20q: %v", prefix, err)
		}
	}
	readDump(t, db, directory.Options{Nodes: tuple.NewSubspace([]byte("nodes"))}).checkSound(t)
	if _, err := directory.Root().CreatePrefix(ctx, db, path("a"), []byte("x")); !errors.Is(err, directory.ErrManualPrefix) {
		t.Errorf("the root layer: %v", err)
	}
}

// TestManualPrefixBesideAllocated: a parent never gets a prefix that overlaps
// the one chosen for its child, though that holds nearly all of the first ones.
func TestManualPrefixBesideAllocated(t *testing.T) {
	ctx, db := context.Background(), enginetest.Open(t)
	layer := must[*directory.Layer](t)(directory.New(directory.Options{AllowManualPrefixes: true}))
	allOfOneByte := []byte{0x15} // the integers from 1 to 255
	child := mustDir(t)(layer.CreatePrefix(ctx, db, path("parent", "child"), allOfOneByte))
	parent := mustDir(t)(layer.Open(ctx, db, path("parent")))
	if a, b := subspace(t, child), subspace(t, parent); a.Contains(b.Bytes()) || b.Contains(a.Bytes()) {
		t.Errorf("the parent has %x, the child %x", b.Bytes(), a.Bytes())
	}
	readDump(t, db, directory.Options{}).checkSound(t)
}

// TestCorruptMetadata: damaged links are reported and, above all, not followed
// by a removal, which would clear what they point at.
func TestCorruptMetadata(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	nodes := tuple.NewSubspace([]byte{0xfe})
	rootNode := nodes.Sub([]byte{0xfe})
	for _, prefix := range []string{"", "\xff", "\xfe", "\xfe\x01"} {
		db := enginetest.Open(t)
		a := mustDir(t)(root.Create(ctx, db, path("a")))
		transact(t, db, func(tx kv.Transaction) error {
			tx.Set(rootNode.Sub(0, "b").Bytes(), []byte(prefix))
			tx.Set(nodes.Sub(must[[]byte](t)(a.Prefix())).Sub(0, "c").Bytes(), []byte(prefix))
			return nil
		})
		before := readAll(t, db)
		for name, err := range map[string]error{
			"open":          second(root.Open(ctx, db, path("b"))),
			"remove":        root.Remove(ctx, db, path("b")),
			"remove parent": root.Remove(ctx, db, path("a")),
			"move":          second(root.Move(ctx, db, path("a", "c"), path("z"))),
			"create below":  second(root.Create(ctx, db, path("b", "c"))),
		} {
			if !errors.Is(err, directory.ErrCorrupt) {
				t.Errorf("%s through the prefix %q: %v", name, prefix, err)
			}
		}
		if diff := cmp.Diff(before, readAll(t, db)); diff != "" {
			t.Errorf("prefix %q: changed (-want +got):\n%s", prefix, diff)
		}
	}
}

// TestListOfDamagedLinks: keys among the names that are none hide no name, are named each, and do not
// count for a page.
func TestListOfDamagedLinks(t *testing.T) {
	ctx, root, db := context.Background(), directory.Root(), enginetest.Open(t)
	want := []string{"a", "b", "c", "d"}
	for _, name := range want {
		mustDir(t)(root.Create(ctx, db, path(name)))
	}
	links := tuple.NewSubspace([]byte{0xfe}).Sub([]byte{0xfe}, 0)
	transact(t, db, func(tx kv.Transaction) error {
		for _, torn := range []string{"\x02a\x00torn", "\x02b", "\x02c\x00\x15\x07", "\x15\x07"} {
			tx.Set(append(links.Bytes(), torn...), []byte{0x15, 0x01})
		}
		return nil
	})
	names, err := root.List(ctx, db, nil)
	if !slices.Equal(names, want) || !errors.Is(err, directory.ErrCorrupt) || strings.Count(err.Error(), "not the key of a link") != 4 {
		t.Errorf("%q, %v", names, err)
	}
	for size := 1; size <= 5; size++ {
		var got []string
		for after, more := "", true; more; {
			page, err := root.ListAfter(ctx, db, nil, after, size)
			if err != nil && !errors.Is(err, directory.ErrCorrupt) {
				t.Fatal(err)
			}
			if got, more = append(got, page...), len(page) == size; more {
				after = page[size-1]
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %q", size, got)
		}
	}
}

// TestRemoveCycle: even a node that links to itself is removed in finite time.
func TestRemoveCycle(t *testing.T) {
	ctx, root, db := context.Background(), directory.Root(), enginetest.Open(t)
	a := mustDir(t)(root.Create(ctx, db, path("a")))
	prefix := must[[]byte](t)(a.Prefix())
	transact(t, db, func(tx kv.Transaction) error {
		tx.Set(tuple.NewSubspace([]byte{0xfe}).Sub(prefix).Sub(0, "self").Bytes(), prefix)
		return nil
	})
	if err := root.Remove(ctx, db, path("a")); err != nil {
		t.Fatal(err)
	}
	readDump(t, db, directory.Options{}).checkSound(t)
}

func readAll(t testing.TB, db kv.Database) []kv.KeyValue {
	t.Helper()
	return readDump(t, db, directory.Options{Nodes: tuple.NewSubspace([]byte("none"))}).all
}

// TestEngineErrorsPass: what the engine says goes through every wrapping, so
// that retry loops and callers see it.
func TestEngineErrorsPass(t *testing.T) {
	ctx, root, db := context.Background(), directory.Root(), enginetest.Open(t)
	tx := must[kv.Transaction](t)(db.Begin())
	tx.Cancel()
	cache := newCache(t, db, directory.CacheOptions{})
	for name, err := range map[string]error{
		"CreateOrOpen": second(root.CreateOrOpen(ctx, tx, path("a"))),
		"Open":         second(root.Open(ctx, tx, path("a"))),
		"List":         second(root.List(ctx, tx, path("a"))),
		"Exists":       second(root.Exists(ctx, tx, path("a"))),
		"Move":         second(root.Move(ctx, tx, path("a"), path("b"))),
		"Remove":       root.Remove(ctx, tx, path("a")),
		"Cache.Open":   second(cache.Open(ctx, tx, path("a"))),
	} {
		if kv.CodeOf(err) != kv.CodeTransactionCancelled {
			t.Errorf("%s on a cancelled transaction: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := root.Create(ended, db, path("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("Create with a context that ended: %v", err)
	}
}
