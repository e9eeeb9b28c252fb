// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// numberedKept is how many of the numbered transactions are not cleared again.
const numberedKept = 20

// writeNumbered makes transaction i of a series: it sets the pairs i/0 to i/2
// and last, and clears those of an earlier transaction, in one of two ways.
func writeNumbered(tx kv.Transaction, i int) {
	for part := range 3 {
		tx.Set(numberedKey(i, part), fmt.Append(nil, i))
		if old := i - numberedKept; old > 0 && old%2 == 0 {
			tx.Clear(numberedKey(old, part))
		}
	}
	if old := i - numberedKept; old > 0 && old%2 == 1 {
		tx.ClearRange(kv.KeyRange{Begin: numberedKey(old, 0), End: numberedKey(old, 9)})
	}
	tx.Set([]byte("last"), fmt.Append(nil, i))
	tx.Atomic(kv.Add, []byte("count"), []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func numberedKey(i, part int) []byte { return fmt.Appendf(nil, "%08d/%d", i, part) }

// lastNumber returns the number of the last transaction that is there.
func lastNumber(db *Database) (n int, err error) {
	err = db.ReadTransact(context.Background(), func(tx kv.ReadTransaction) error {
		value, err := tx.Get([]byte("last")).Get(context.Background())
		if err != nil || value == nil {
			return err
		}
		_, err = fmt.Sscan(string(value), &n)
		return err
	})
	return n, err
}

// checkNumbered returns the number of the last transaction that a database
// holds, having checked that those before are there and none after, all whole.
func checkNumbered(t testing.TB, db *Database) int {
	t.Helper()
	last, err := lastNumber(db)
	if err != nil {
		t.Fatal(err)
	}
	var want pairs
	for i := max(1, last-numberedKept+1); i <= last; i++ {
		for part := range 3 {
			want = append(want, [2]string{string(numberedKey(i, part)), fmt.Sprint(i)})
		}
	}
	if last > 0 {
		sum := string([]byte{byte(last), byte(last >> 8), byte(last >> 16), 0, 0, 0, 0, 0})
		want = append(want, [2]string{"count", sum}, [2]string{"last", fmt.Sprint(last)})
	}
	var got pairs
	err = db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) (err error) {
		got, err = readPairs(tx, everything, kv.RangeOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("after %d transactions the database holds\n%q\nwant\n%q", last, got, want)
	}
	return last
}
