// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestHandleOfARemovedPartition uses a handle after its partition is gone, and
// again when there is another at its path: verbs act on what is there now. The
// official layers keep the prefix of a partition in its handle and list what is
// left there: nothing, and no error.
func TestHandleOfARemovedPartition(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		ctx, root := context.Background(), directory.Root()
		create := func(child string) *directory.Directory {
			partition := mustDir(t)(root.CreateOrOpen(ctx, db, path("p"), directory.As(directory.Partition)))
			mustDir(t)(partition.CreateOrOpen(ctx, db, path(child)))
			return partition
		}
		kept := create("first")
		if err := root.Remove(ctx, db, path("p")); err != nil {
			t.Fatal(err)
		}
		if names, err := kept.List(ctx, db, nil); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("the removed partition lists %q, %v", names, err)
		}
		if exists, err := kept.Exists(ctx, db, nil); exists || err != nil {
			t.Errorf("the removed partition exists: %t, %v", exists, err)
		}
		create("second")
		if names, err := kept.List(ctx, db, nil); err != nil || !slices.Equal(names, path("second")) {
			t.Errorf("the partition at the path lists %q, %v", names, err)
		}
	})
}

var errOther = errors.New("it is another directory")

// only allows to change a directory that was read before.
func only(d *directory.Directory) directory.Condition {
	return func(_ kv.ReadTransaction, now *directory.Directory) error {
		if !bytes.Equal(now.Reserve().Begin, d.Reserve().Begin) {
			return errOther
		}
		return nil
	}
}

// TestConditions: a directory that another program has put at the path since the condition's
// was read stays, even if it comes while the verb's own outcome is unknown.
func TestConditions(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	verbs := map[string]func(db kv.Database, d *directory.Directory) error{
		"remove": func(db kv.Database, d *directory.Directory) error { return root.Remove(ctx, db, path("a"), only(d)) },
		"move": func(db kv.Database, d *directory.Directory) error {
			return second(root.Move(ctx, db, path("a"), path("b"), only(d)))
		},
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			db := enginetest.Open(t)
			d := mustDir(t)(root.Create(ctx, db, path("a")))
			exchange := func() error {
				return errors.Join(root.Remove(ctx, db, path("a")), second(root.Create(ctx, db, path("a"))))
			}
			if err := exchange(); err != nil {
				t.Fatal(err)
			}
			if err := verb(db, d); !errors.Is(err, errOther) {
				t.Errorf("after an exchange: %v", err)
			}
			d = mustDir(t)(root.Open(ctx, db, path("a")))
			again := func() error { return second(root.CreateOrOpen(ctx, db, path("a"))) }
			if err := verb(lossy(db, false, again), d); err != nil {
				t.Errorf("with a lost acknowledgement: %v", err)
			}
			if is := must[bool](t)(root.Exists(ctx, db, path("a"))); !is {
				t.Error("the directory of the other program is gone")
			}
		})
	}
}

// TestConditionReads: what a condition has read conflicts with a change before the commit.
func TestConditionReads(t *testing.T) {
	ctx, root, db := context.Background(), directory.Root(), enginetest.Open(t)
	mustDir(t)(root.Create(ctx, db, path("a")))
	attempts := 0
	err := root.Remove(ctx, db, path("a"), func(tx kv.ReadTransaction, _ *directory.Directory) error {
		attempts++
		locked, err := tx.Get([]byte("lock")).Get(ctx)
		if err != nil {
			return err
		}
		if locked != nil {
			return errOther
		}
		//persistvet:ignore outsidetx another program changes what the condition has read
		return db.Transact(ctx, func(tx kv.Transaction) error { tx.Set([]byte("lock"), []byte("x")); return nil })
	})
	if !errors.Is(err, errOther) || attempts != 2 {
		t.Errorf("%v after %d attempts", err, attempts)
	}
}

// TestContaining looks for the directories of keys: at the prefix itself and after it, in
// partitions and outside of all.
func TestContaining(t *testing.T) {
	ctx, db, layer := t.Context(), enginetest.Open(t), directory.Root()
	for _, path := range [][]string{{"a"}, {"a", "b"}, {"p", "x"}, {"p", "x", "y"}, {"p", "q", "z"}} {
		if _, err := layer.CreateOrOpen(ctx, db, path, expectsOf(path)...); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range [][]string{{"a"}, {"a", "b"}, {"p", "x"}, {"p", "x", "y"}, {"p", "q", "z"}} {
		d, err := layer.Open(ctx, db, path)
		if err != nil {
			t.Fatal(err)
		}
		prefix, err := d.Prefix()
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range []string{"", "\x00", "k", "\xff\xff"} {
			found, err := layer.Containing(ctx, db, append(slices.Clone(prefix), rest...))
			if err != nil || !slices.Equal(found.Path(), path) {
				t.Errorf("%q: the key at %q belongs to %v, %v", path, rest, found, err)
			}
		}
	}
	p, err := layer.Open(ctx, db, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{"\xfe", "\xfe\x01", "\x02other"} {
		found, err := layer.Containing(ctx, db, append(slices.Clone(p.Reserve().Begin), rest...))
		if err != nil || !slices.Equal(found.Path(), []string{"p"}) {
			t.Errorf("the key %q of the partition belongs to %v, %v", rest, found, err)
		}
	}
	for _, key := range []string{"", "\x00", "\xfe", "\xfe\x01\xfe\x00", "\xff/x"} {
		if found, err := layer.Containing(ctx, db, []byte(key)); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("the key %q belongs to %v, %v, want ErrNotFound", key, found, err)
		}
	}
}

// expectsOf makes p and p/q partitions.
func expectsOf(path []string) (expects []directory.Expect) {
	for i, name := range path {
		if name == "p" || name == "q" {
			expects = append(expects, directory.ElementAs(i, directory.Partition))
		}
	}
	return expects
}

// TestSubtree reads trees with partitions: each directory is the one that Open returns.
func TestSubtree(t *testing.T) {
	ctx, db, root := context.Background(), enginetest.Open(t), directory.Root()
	want := [][]string{{"t"}, {"t", "a"}, {"t", "a", "b"}, {"t", "p"}, {"t", "p", "q"}, {"t", "p", "q", "z"}, {"t", "p", "x"}}
	for i := range 300 {
		want = append(want, []string{"t", "wide", fmt.Sprintf("%03d", i)})
	}
	want = append(want, []string{"t", "wide"})
	for _, p := range append(want, path("tt"), path("other", "a")) {
		mustDir(t)(root.CreateOrOpen(ctx, db, p, expectsOf(p)...))
	}
	slices.SortFunc(want, slices.Compare[[]string])
	counted := faults.NewCounter(db)
	all, err := root.Subtree(ctx, counted, path("t"))
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, d := range all {
		got = append(got, d.Path())
		if alone := mustDir(t)(root.Open(ctx, db, d.Path())); alone.String() != d.String() || !slices.Equal(alone.Layers(), d.Layers()) ||
			alone.Annotation("x").String() != d.Annotation("x").String() {
			t.Errorf("%v, alone %v", d, alone)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rounds := counted.Counts().Rounds; rounds > 9 {
		t.Errorf("%d rounds", rounds)
	}
	for _, missing := range [][]string{{"no"}, {"t", "p", "no"}} {
		if _, err := root.Subtree(ctx, db, missing); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("%q: %v", missing, err)
		}
	}
}

// TestSubtreeOfACircle: a damaged link to a directory above ends in an error.
func TestSubtreeOfACircle(t *testing.T) {
	ctx, db, root := context.Background(), enginetest.Open(t), directory.Root()
	a := mustDir(t)(root.Create(ctx, db, path("a")))
	mustDir(t)(root.Create(ctx, db, path("a", "b")))
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		links := tx.GetRange(kv.PrefixRange([]byte{0xfe}).Selectors(), kv.RangeOptions{})
		for pair, err := range links.All(ctx) {
			if err != nil {
				return err
			}
			if slices.Contains(pair.Key, 'b') && len(pair.Value) > 0 {
				tx.Set(pair.Key, a.Reserve().Begin)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.Subtree(ctx, db, path("a")); !errors.Is(err, directory.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

// lossy returns a database that loses the outcome of the next commit.
func lossy(db kv.Database, drop bool, between func() error) kv.Database {
	l := &enginetest.Lossy{Database: db}
	l.Lose(drop, between)
	return l
}

// TestLostAcknowledgement checks that each verb recognizes its own change.
func TestLostAcknowledgement(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	var db kv.Database
	recreate := func() error {
		_, err := root.Create(ctx, db, path("a"))
		return err
	}
	replace := func() error {
		return errors.Join(root.Remove(ctx, db, path("new")), func() error { _, err := root.Create(ctx, db, path("new")); return err }())
	}
	elsewhere := func() error { return second(root.Move(ctx, db, path("a"), path("z"))) }
	moveOn := func() error { return second(root.Move(ctx, db, path("b"), path("c"))) }
	moveOnAndRecreate := func() error { return errors.Join(moveOn(), recreate()) }
	exchange := func() error { return errors.Join(elsewhere(), recreate()) }
	removeA := func(db kv.Database) error { return root.Remove(ctx, db, path("a")) }
	moveA := func(db kv.Database) error { return second(root.Move(ctx, db, path("a"), path("b"))) }
	tests := []struct {
		name    string
		between func() error
		call    func(kv.Database) error
		want    error
		left    []string
		drop    bool
	}{
		{"create", nil, func(db kv.Database) error { return second(root.Create(ctx, db, path("new"))) }, nil, path("a", "new"), false},
		{"create, replaced", replace, func(db kv.Database) error { return second(root.Create(ctx, db, path("new"))) }, directory.ErrExists, path("a", "new"), false},
		{"createOrOpen", nil, func(db kv.Database) error { return second(root.CreateOrOpen(ctx, db, path("new"))) }, nil, path("a", "new"), false},
		{"remove", nil, removeA, nil, nil, false},
		{"remove, created again", recreate, removeA, nil, path("a"), false},
		{"remove what never was", nil, func(db kv.Database) error { return root.Remove(ctx, db, path("b")) }, directory.ErrNotFound, path("a"), false},
		{"move", nil, moveA, nil, path("b"), false},
		{"move what never was", nil, func(db kv.Database) error { return second(root.Move(ctx, db, path("c"), path("b"))) }, directory.ErrNotFound, path("a"), false},
		{"remove, dropped", nil, removeA, nil, nil, true},
		{"remove, dropped and moved away", elsewhere, removeA, directory.ErrNotFound, path("z"), true},
		{"remove, dropped and another one there", exchange, removeA, nil, path("z"), true},
		{"move, created again", recreate, moveA, nil, path("a", "b"), false},
		{"move, dropped and moved away", elsewhere, moveA, directory.ErrNotFound, path("z"), true},
		{"move, dropped and moved away, unknown", elsewhere, moveA, kv.ErrOutcomeUnknown, path("z"), true},
		{"move, dropped and another one there", exchange, moveA, kv.ErrOutcomeUnknown, path("a", "z"), true},
		{"move, moved on", moveOn, moveA, kv.ErrOutcomeUnknown, path("c"), false},
		{"move, moved on and created again", moveOnAndRecreate, moveA, kv.ErrOutcomeUnknown, path("a", "c"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db = enginetest.Open(t)
			mustDir(t)(root.Create(ctx, db, path("a")))
			if err := test.call(lossy(db, test.drop, test.between)); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			d := readDump(t, db, directory.Options{})
			d.checkSound(t)
			var left []string
			for _, n := range d.nodes {
				left = append(left, n.path[0])
			}
			if !slices.Equal(left, test.left) {
				t.Errorf("left %q, want %q", left, test.left)
			}
		})
	}
}
