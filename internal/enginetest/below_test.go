// SPDX-License-Identifier: Apache-2.0

//go:build !foundationdb

package enginetest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

// TestMain leaves out the one law that Below breaks: there is no room for a
// prefix before the longest key.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.skip", "/limits/keys_up_to_the_limit"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Keys of others lie before and after them.
func TestBelowKeepsTheContract(t *testing.T) {
	others := [][]byte{[]byte("o"), []byte("p."), []byte("p0"), []byte("q")}
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database {
		db := enginetest.Open(tb)
		err := db.Transact(tb.Context(), func(tx kv.Transaction) error {
			for _, key := range others {
				tx.Set(key, []byte("of others"))
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { // before db is closed, unless the law has done that
			left, err := countOutside(tb, db, "p/")
			if !errors.Is(err, kv.ErrClosed) && (err != nil || left != len(others)) {
				tb.Errorf("%d keys are left outside the space (%v), want the %d of others", left, err, len(others))
			}
		})
		return enginetest.Below(db, []byte("p/"))
	})
}

// A future of a batch gives each caller the same keys.
func TestBatchesAreAskedTwice(t *testing.T) {
	db := enginetest.Below(enginetest.Open(t), []byte("p/"))
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set([]byte("key"), nil)
		asked := 0
		pairs, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Wrap(func(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
			if _, err := f.Get(t.Context()); err == nil {
				asked++
			}
			return f
		}).Slice(t.Context())
		if err == nil && (asked == 0 || len(pairs) != 1 || string(pairs[0].Key) != "key") {
			t.Errorf("asked %d times, got %v", asked, pairs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// countOutside counts the keys that do not begin with a prefix.
func countOutside(tb testing.TB, db kv.Database, prefix string) (n int, err error) {
	ctx := context.WithoutCancel(tb.Context())
	err = db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		all, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(ctx)
		n = 0
		for _, pair := range all {
			if !bytes.HasPrefix(pair.Key, []byte(prefix)) {
				n++
			}
		}
		return err
	})
	return n, err
}
