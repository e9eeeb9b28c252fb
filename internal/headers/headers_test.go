// SPDX-License-Identifier: Apache-2.0

package headers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/tuple"
)

// world is a database with keys by their tuples, each of which is its own value as text.
type world struct {
	*testing.T
	db *faults.Counter
}

func newWorld(t *testing.T) world { return world{t, faults.NewCounter(enginetest.Open(t))} }

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func pack(t *testing.T, key tuple.Tuple) []byte {
	t.Helper()
	packed, err := key.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func (w world) set(directory string, keys ...tuple.Tuple) {
	w.must(w.db.Transact(w.Context(), func(tx kv.Transaction) error {
		for _, key := range keys {
			tx.Set(append([]byte(directory), pack(w.T, key)...), fmt.Append(nil, key...))
		}
		return nil
	}))
}

func (w world) read(directory string) (found []headers.Header) {
	w.Helper()
	w.must(w.db.ReadTransact(w.Context(), func(tx kv.ReadTransaction) (err error) {
		found, err = headers.Read(w.Context(), tx, []byte(directory))
		return err
	}))
	return found
}

// TestRead: only ("S", type) is a header, whatever else is in the directory and around it; the
// other keys cost no rounds.
func TestRead(t *testing.T) {
	w := newWorld(t)
	w.set("d", tuple.Tuple{"R", "Order", 1}, tuple.Tuple{"S"}, tuple.Tuple{"T", "Order"})
	w.set("d", tuple.Tuple{"S", "Order"}, tuple.Tuple{"S", "Order\x00line"}, tuple.Tuple{"S", "Bid", "history", 1}, tuple.Tuple{"S", ""})
	w.set("c", tuple.Tuple{"S", "Before"})
	w.set("e", tuple.Tuple{"S", "After"})
	for i := range 20 {
		w.set("d", tuple.Tuple{"S", "Order", "history", i}, tuple.Tuple{"S", i}, tuple.Tuple{"S", []byte{byte(i)}}, tuple.Tuple{"S", nil, i})
	}
	before := w.db.Counts().Rounds
	var want []headers.Header
	for _, typ := range []string{"", "Order", "Order\x00line"} {
		want = append(want, headers.Header{Type: typ, Value: fmt.Append(nil, "S", typ)})
	}
	if diff := cmp.Diff(want, w.read("d")); diff != "" {
		t.Error(diff)
	}
	if rounds := w.db.Counts().Rounds - before; rounds != 5 {
		t.Errorf("%d rounds", rounds)
	}
	if found := w.read("none"); len(found) > 0 {
		t.Errorf("%v in an empty directory", found)
	}
}

// TestReadOfTornKeys: a program's own keys that are not tuples hide no header, even that of the
// type directly after one; many of them cost few rounds.
func TestReadOfTornKeys(t *testing.T) {
	w := newWorld(t)
	w.set("d", tuple.Tuple{"S", "Bid"}, tuple.Tuple{"S", "Bid", "history"}, tuple.Tuple{"S", "Torn 007"}, tuple.Tuple{"S", "Torn 5"}, tuple.Tuple{"S", "Zoo"})
	w.must(w.db.Transact(t.Context(), func(tx kv.Transaction) error {
		for i := range 500 {
			tx.Set(slices.Concat([]byte("d"), pack(t, tuple.Tuple{"S"}), fmt.Appendf(nil, "\x02Torn %03d", i)), nil)
		}
		return nil
	}))
	before := w.db.Counts().Rounds
	if types := headers.Types(w.read("d")); !slices.Equal(types, []string{"Bid", "Torn 007", "Torn 5", "Zoo"}) {
		t.Errorf("%q", types)
	}
	if rounds := w.db.Counts().Rounds - before; rounds > 20 {
		t.Errorf("%d rounds", rounds)
	}
}

// TestParseKey: it accepts what Key returns, and nothing else.
func TestParseKey(t *testing.T) {
	for _, typ := range []string{"", "Order", "a\x00b", "日本"} {
		if got, is := headers.ParseKey(headers.Key(typ)); got != typ || !is {
			t.Errorf("%q: %q, %v", typ, got, is)
		}
	}
	for _, key := range []tuple.Tuple{{}, {"S"}, {"R", "Order"}, {"S", 1}, {"S", []byte("Order")}, {"S", "Order", "build"}} {
		if typ, is := headers.ParseKey(pack(t, key)); is {
			t.Errorf("%v: %q", key, typ)
		}
	}
	if typ, is := headers.ParseKey(append(headers.Key("Order"), 0xff)); is {
		t.Errorf("torn: %q", typ)
	}
}

// TestReadAll: many directories cost the rounds of one for each group of them.
func TestReadAll(t *testing.T) {
	w := newWorld(t)
	var directories [][]byte
	var want [][]headers.Header
	for i := range 300 {
		name := fmt.Sprintf("d%03d", i)
		directories, want = append(directories, []byte(name)), append(want, nil)
		if i%100 == 7 {
			w.set(name, tuple.Tuple{"S", "Bid"}, tuple.Tuple{"S", "Order"})
			want[i] = w.read(name)
		}
	}
	before := w.db.Counts().Rounds
	w.must(w.db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		got, err := headers.ReadAll(t.Context(), tx, directories)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		return err
	}))
	if rounds := w.db.Counts().Rounds - before; rounds > 6 || len(want[207]) != 2 {
		t.Errorf("%d rounds", rounds)
	}
}
