// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package tuple

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"os"
	"slices"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	official "github.com/apple/foundationdb/bindings/go/src/fdb/tuple"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// toOfficial returns a tuple as the official Go layer has it, which knows fewer
// types of integers.
func toOfficial(t Tuple) official.Tuple {
	all := official.Tuple{}
	for _, element := range t {
		all = append(all, elementToOfficial(element))
	}
	return all
}

func elementToOfficial(element any) official.TupleElement {
	switch v := element.(type) {
	case Tuple:
		return toOfficial(v)
	case UUID:
		return official.UUID(v)
	case Versionstamp:
		return official.Versionstamp{TransactionVersion: v.Transaction, UserVersion: v.User}
	case nil, []byte, string, bool, float32, float64, *big.Int:
		return v
	}
	negative, magnitude, _ := goInteger(element)
	if negative {
		return -int64(magnitude)
	}
	return magnitude
}

// fromOfficial is the inverse: integers come back as the official layer gives
// them.
func fromOfficial(t official.Tuple) Tuple {
	all := Tuple{}
	for _, element := range t {
		switch v := element.(type) {
		case official.Tuple:
			all = append(all, fromOfficial(v))
		case official.UUID:
			all = append(all, UUID(v))
		case official.Versionstamp:
			all = append(all, Versionstamp{v.TransactionVersion, v.UserVersion})
		default:
			all = append(all, v)
		}
	}
	return all
}

// TestOfficialBytes packs random tuples with the official Go layer and with
// this package, and unpacks what each has packed with the other.
func TestOfficialBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tuple := anyTuple(3).Draw(t, "tuple")
		theirs, ours := toOfficial(tuple).Pack(), tuple.MustPack()
		if !bytes.Equal(theirs, ours) {
			t.Fatalf("packed %x, officially %x", ours, theirs)
		}
		unpacked, err := official.Unpack(ours)
		if err != nil || Compare(fromOfficial(unpacked), tuple) != 0 {
			t.Fatalf("officially unpacked %v, %v", unpacked, err)
		}
		again, err := Unpack(theirs)
		if err != nil || Compare(again, tuple) != 0 {
			t.Fatalf("unpacked %v, %v", again, err)
		}
	})
}

// officialSpace opens the cluster, for both, and a prefix of the test's own. It does not use
// package enginetest, which imports this one.
func officialSpace(t *testing.T) (kv.Database, fdb.Database, Subspace) {
	t.Helper()
	db, err := fdbkv.Open(os.Getenv("FDB_CLUSTER_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	space := NewSubspace([]byte("test of tuples " + rand.Text()))
	t.Cleanup(func() {
		err := db.Transact(context.Background(), func(tx kv.Transaction) error {
			tx.ClearRange(kv.PrefixRange(space.Bytes()))
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, db.Unwrap(), space
}

func stored(t *testing.T, db kv.Database, space Subspace) []kv.KeyValue {
	t.Helper()
	pairs, err := kv.ReadTransact(t.Context(), db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(space.Bytes()).Selectors(), kv.RangeOptions{}).Slice(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

// TestOfficialKeys stores tuples on the cluster, every other one by the official
// layer and binding, and reads all with both: they come in the order of Compare.
func TestOfficialKeys(t *testing.T) {
	db, binding, space := officialSpace(t)
	var all []Tuple
	for i := range 500 {
		all = append(all, append(anyTuple(2).Example(i), i))
	}
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		for i, tuple := range all[:len(all)/2] {
			key, err := space.Pack(tuple)
			if err != nil {
				return err
			}
			tx.Set(key, fmt.Append(nil, i))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = binding.Transact(func(tr fdb.Transaction) (any, error) {
		for i, tuple := range all[len(all)/2:] {
			key := slices.Concat(space.Bytes(), toOfficial(tuple).Pack())
			tr.Set(fdb.Key(key), fmt.Append(nil, i))
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, Compare)
	pairs := stored(t, db, space)
	if len(pairs) != len(all) {
		t.Fatalf("%d keys are stored, expected were %d", len(pairs), len(all))
	}
	for i, pair := range pairs {
		ours, err := space.Unpack(pair.Key)
		if err != nil || Compare(ours, all[i]) != 0 {
			t.Errorf("key %d is %v (%v), expected was %v", i, ours, err, all[i])
		}
		theirs, err := official.Unpack(pair.Key[len(space.Bytes()):])
		if err != nil || Compare(fromOfficial(theirs), all[i]) != 0 {
			t.Errorf("key %d is officially %v (%v), expected was %v", i, theirs, err, all[i])
		}
	}
}

// TestOfficialVersionstamps has the cluster complete versionstamped keys of
// both layers, nested ones too, in one transaction.
func TestOfficialVersionstamps(t *testing.T) {
	db, binding, space := officialSpace(t)
	tuples := []Tuple{
		{Incomplete(1)},
		{"a", Incomplete(2), nil, -1.5},
		{Tuple{nil, []byte{0, 0xff}, Incomplete(3)}, UUID{1}},
	}
	result, err := binding.Transact(func(tr fdb.Transaction) (any, error) {
		for i, tuple := range tuples {
			ours, err := space.PackVersionstamped(append(Tuple{"ours"}, tuple...))
			if err != nil {
				return nil, err
			}
			theirs, err := toOfficial(append(Tuple{"theirs"}, tuple...)).PackWithVersionstamp(space.Bytes())
			if err != nil {
				return nil, err
			}
			tr.SetVersionstampedKey(fdb.Key(ours), []byte{byte(i)})
			tr.SetVersionstampedKey(fdb.Key(theirs), []byte{byte(i)})
		}
		return tr.GetVersionstamp(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := result.(fdb.FutureKey).Get()
	if err != nil {
		t.Fatal(err)
	}
	pairs := stored(t, db, space)
	if len(pairs) != 2*len(tuples) {
		t.Fatalf("%d keys are stored, expected were %d", len(pairs), 2*len(tuples))
	}
	for _, pair := range pairs {
		got, err := space.Unpack(pair.Key)
		if err != nil {
			t.Fatal(err)
		}
		want := completed(tuples[pair.Value[0]], [10]byte(stamp))
		if Compare(got[1:], want) != 0 {
			t.Errorf("stored %v, expected was %v", got, want)
		}
		theirs, err := official.Unpack(pair.Key[len(space.Bytes()):])
		if err != nil || Compare(fromOfficial(theirs), got) != 0 {
			t.Errorf("stored %v, officially %v (%v)", got, theirs, err)
		}
	}
}

// completed returns a tuple with its incomplete versionstamps filled in.
func completed(t Tuple, stamp [10]byte) Tuple {
	t = slices.Clone(t)
	for i, element := range t {
		switch v := element.(type) {
		case Tuple:
			t[i] = completed(v, stamp)
		case Versionstamp:
			t[i] = Versionstamp{stamp, v.User}
		}
	}
	return t
}
