// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/tuple"
)

var ctx = context.Background()

// The indexes of the tests: plain, unique, and unique with a copy.
func indexes(states ...index.State) []index.Index {
	all := []index.Index{
		{Definition: &index.Definition{Name: "T_P", Fields: []string{"P"}}},
		{Definition: &index.Definition{Name: "T_U", Fields: []string{"U"}, Unique: true}},
		{Definition: &index.Definition{Name: "T_C", Fields: []string{"C"}, Unique: true, Cover: true}},
	}
	for i := range all {
		all[i].Prefix = all[i].AppendPrefix(nil)
		all[i].ViolationPrefix = tuple.Tuple{"S", "violation", all[i].Name}.MustPack()
		all[i].State = index.Readable
		if i < len(states) {
			all[i].State = states[i]
		}
	}
	return all
}

func id(n int) []byte { return tuple.Tuple{n}.MustPack() }

// set gathers the entries of a record: values[i] are those of index i.
func set(t testing.TB, ixs []index.Index, id []byte, values ...[]string) *index.Set {
	t.Helper()
	s := new(index.Set)
	s.Reset()
	for i := range ixs {
		if e := s.Open(&ixs[i], id); e != nil && i < len(values) {
			for _, v := range values[i] {
				e.Begin() // an entry begun and not ended is not there
				e.End(tuple.AppendString(e.Begin(), v))
			}
		}
		if err := s.Close(&ixs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func list(values ...string) []string { return values }

func TestSet(t *testing.T) {
	ixs := indexes(index.Readable, index.Disabled, index.Building)
	s := set(t, ixs, id(7), list("b", "a", "b", ""), list("x"), list("y"))
	if s.Keys(0) != 3 || s.Keys(1) != 0 || s.Keys(2) != 1 || s.Keys(3) != 0 {
		t.Errorf("keys: %d %d %d", s.Keys(0), s.Keys(1), s.Keys(2))
	}
	for n, want := range []string{`("I", "T_P", "", 7)`, `("I", "T_P", "a", 7)`, `("I", "T_P", "b", 7)`} {
		if got := tuple.Describe(s.Key(0, n)); got != want {
			t.Errorf("key %d is %s, want %s", n, got, want)
		}
	}
	key := tuple.Tuple{"I", "T_C_unique", "y"}.MustPack()
	if !s.Has(2, key) || s.Has(0, key) || s.Has(1, tuple.Tuple{"I", "T_U_unique", "x"}.MustPack()) {
		t.Error("Has is wrong")
	}
}

func TestKeySize(t *testing.T) {
	ixs := indexes()
	s := new(index.Set)
	e := s.Open(&ixs[0], id(1))
	e.End(tuple.AppendString(e.Begin(), strings.Repeat("x", 10_000)))
	var size *index.KeySizeError
	if err := s.Close(&ixs[0]); !errors.As(err, &size) || size.Field != "P" || size.FieldSize != 10_002 || size.Size <= kv.MaxKeySize {
		t.Errorf("Close = %v", err)
	}
	s.Reset()
	e = s.Open(&ixs[0], tuple.Tuple{strings.Repeat("x", 10_000)}.MustPack())
	e.End(tuple.AppendString(e.Begin(), "short"))
	if err := s.Close(&ixs[0]); !errors.As(err, &size) || size.Field != "ID" {
		t.Errorf("Close with a long id = %v", err)
	}
}

// store writes a record's entries as package persistable does.
func store(tx kv.Transaction, ixs []index.Index, was, is *index.Set, id []byte, old, value string) error {
	var c index.Claims
	if is != nil {
		c.Start(tx, ixs, is)
		if err := c.Check(ctx, ixs, is, was, id); err != nil {
			return err
		}
	}
	change, err := index.Plan(ctx, tx, ixs, was, is)
	if err == nil {
		change.Write(index.Record{ID: id, Value: []byte(old)}, index.Record{ID: id, Value: []byte(value)}, nil)
	}
	return err
}

func contents(t testing.TB, db kv.Database) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		pairs, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(ctx)
		for _, p := range pairs {
			all[tuple.Describe(p.Key)] = string(p.Value)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func transact(t testing.TB, db kv.Database, fn func(tx kv.Transaction) error) {
	t.Helper()
	if err := db.Transact(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

func TestMaintain(t *testing.T) {
	for name, wrap := range map[string]func(kv.Database) kv.Database{
		"plain": func(db kv.Database) kv.Database { return db }, "hostile": func(db kv.Database) kv.Database { return faults.HostileT(t, db) },
	} {
		t.Run(name, func(t *testing.T) {
			db, ixs := wrap(enginetest.Open(t)), indexes()
			one := set(t, ixs, id(1), list("a", "b"), list("u"), list("c"))
			transact(t, db, func(tx kv.Transaction) error { return store(tx, ixs, nil, one, id(1), "", "v1") })
			check := func(want map[string]string) {
				t.Helper()
				if diff := cmp.Diff(want, contents(t, db)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			check(map[string]string{
				`("I", "T_P", "a", 1)`: "", `("I", "T_P", "b", 1)`: "",
				`("I", "T_U_unique", "u")`: "\x15\x01", `("I", "T_C_unique", "c")`: "\x15\x01v1",
			})
			next := set(t, ixs, id(1), list("b", "d"), list(), list("c"))
			transact(t, db, func(tx kv.Transaction) error { return store(tx, ixs, one, next, id(1), "v1", "v2") })
			check(map[string]string{`("I", "T_P", "b", 1)`: "", `("I", "T_P", "d", 1)`: "", `("I", "T_C_unique", "c")`: "\x15\x01v2"})

			other := set(t, ixs, id(2), nil, nil, list("c"))
			err := db.Transact(ctx, func(tx kv.Transaction) error { return store(tx, ixs, nil, other, id(2), "", "v") })
			var taken *index.TakenError
			if !errors.As(err, &taken) || string(taken.Owner) != string(id(1)) || !slices.Equal(taken.Values, tuple.Tuple{"c"}) || taken.Definition != ixs[2].Definition {
				t.Errorf("a second owner: %v", err)
			}
			// A record that does not own a key does not clear it.
			transact(t, db, func(tx kv.Transaction) error { return store(tx, ixs, other, nil, id(2), "v2", "") })
			transact(t, db, func(tx kv.Transaction) error { return store(tx, ixs, next, nil, id(1), "v2", "") })
			check(map[string]string{})
		})
	}
}

func TestAnOwnerIsNotClearedByOthers(t *testing.T) {
	db, ixs := faults.HostileT(t, enginetest.Open(t)), indexes()
	mine, theirs := set(t, ixs, id(1), nil, list("u")), set(t, ixs, id(2), nil, list("u"))
	transact(t, db, func(tx kv.Transaction) error { return store(tx, ixs, nil, mine, id(1), "", "") })
	transact(t, db, func(tx kv.Transaction) error {
		change, err := index.Plan(ctx, tx, ixs, theirs, nil)
		if err == nil {
			change.Write(index.Record{ID: id(2)}, index.Record{}, nil)
		}
		return err
	})
	if got := contents(t, db)[`("I", "T_U_unique", "u")`]; got != "\x15\x01" {
		t.Errorf("the owner is %q", got)
	}
}

func TestLargeCopiesAreLeftOut(t *testing.T) {
	ix := indexes()[2]
	for size, want := range map[int]int{10: 12, kv.MaxValueSize - 2: kv.MaxValueSize, kv.MaxValueSize - 1: 2, kv.MaxValueSize: 2} {
		if got := len(ix.AppendValue(nil, index.Record{ID: id(1), Value: make([]byte, size)})); got != want {
			t.Errorf("a copy of %d bytes makes a value of %d, want %d", size, got, want)
		}
	}
}

func TestFillAndSettle(t *testing.T) {
	db := enginetest.Open(t)
	ixs := indexes(index.Building, index.Building, index.Readable)
	records := map[int][]string{1: {"x"}, 2: {"y"}, 3: {"x"}, 4: {"x"}}
	transact(t, db, func(tx kv.Transaction) error {
		f := index.NewFill(tx, ixs)
		for n := 1; n <= 4; n++ {
			f.Add(set(t, ixs, id(n), list(fmt.Sprint("p", n)), records[n], list("not filled")), index.Record{ID: id(n)})
		}
		if f.Size() == 0 {
			t.Error("the batch has no size")
		}
		return f.Finish(ctx)
	})
	want := map[string]string{
		`("I", "T_P", "p1", 1)`: "", `("I", "T_P", "p2", 2)`: "", `("I", "T_P", "p3", 3)`: "", `("I", "T_P", "p4", 4)`: "",
		`("I", "T_U_unique", "x")`: "\x15\x01", `("I", "T_U_unique", "y")`: "\x15\x02",
	}
	digest := sha256.Sum256([]byte("\x02x\x00"))
	for n := 3; n <= 4; n++ {
		key := tuple.Describe(tuple.Tuple{"S", "violation", "T_U", n, digest[:16]}.MustPack())
		want[key] = string(tuple.Tuple{[]byte("\x02x\x00"), id(n), id(1)}.MustPack())
	}
	if diff := cmp.Diff(want, contents(t, db)); diff != "" {
		t.Errorf("filled (-want +got):\n%s", diff)
	}
	transact(t, db, func(tx kv.Transaction) error {
		ix := &ixs[1]
		found, next, err := ix.Violations(ctx, tx, nil, 1)
		if err != nil || len(found) != 1 || next == nil || string(found[0].Record) != string(id(3)) {
			t.Fatalf("Violations = %+v, %q, %v", found, next, err)
		}
		owner, err := ix.Settle(ctx, tx, 1, found[0], set(t, ixs, id(3), nil, list("x")), index.Record{ID: id(3)})
		if err != nil || string(owner) != string(id(1)) {
			t.Errorf("Settle = %q, %v; record 1 is still the owner", owner, err)
		}
		tx.Clear(found[0].Key) // the owner goes
		rest, next, err := ix.Violations(ctx, tx, next, 10)
		if err != nil || len(rest) != 1 || next != nil {
			t.Fatalf("Violations = %+v, %q, %v", rest, next, err)
		}
		owner, err = ix.Settle(ctx, tx, 1, rest[0], set(t, ixs, id(4), nil, list("x")), index.Record{ID: id(4)})
		if err != nil || owner != nil {
			t.Errorf("Settle = %q, %v; the value is free", owner, err)
		}
		owner, err = ix.Settle(ctx, tx, 1, found[0], nil, index.Record{})
		if err != nil || owner != nil {
			t.Errorf("Settle = %q, %v; the record is gone", owner, err)
		}
		return nil
	})
	if got := contents(t, db); got[`("I", "T_U_unique", "x")`] != "\x15\x04" || len(got) != 6 {
		t.Errorf("settled: %q", got)
	}
	transact(t, db, func(tx kv.Transaction) error { ixs[0].Clear(tx); ixs[1].Clear(tx); return nil })
	if got := contents(t, db); len(got) != 0 {
		t.Errorf("cleared: %q", got)
	}
}

func FuzzSplitUnique(f *testing.F) {
	f.Add([]byte("\x15\x01copy"))
	f.Fuzz(func(t *testing.T, value []byte) {
		owner, rest, err := index.SplitUnique(indexes()[2].Definition, []byte("key"), value)
		if err == nil && len(owner)+len(rest) != len(value) {
			t.Errorf("%q was cut into %q and %q", value, owner, rest)
		}
	})
}
