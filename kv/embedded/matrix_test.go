// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// matrixReads are all calls that add read conflict ranges, and their snapshot
// forms, which add none. Each sees or guards the keys from k to l.
var matrixReads = map[string]func(t testing.TB, tx kv.Transaction) error{
	"get":                     func(t testing.TB, tx kv.Transaction) error { return getErr(t, tx, "k") },
	"get_key":                 func(t testing.TB, tx kv.Transaction) error { return selectErr(t, tx) },
	"get_range":               func(t testing.TB, tx kv.Transaction) error { return rangeErr(tx, false) },
	"get_range backward":      func(t testing.TB, tx kv.Transaction) error { return rangeErr(tx, true) },
	"add_read_conflict_key":   func(_ testing.TB, tx kv.Transaction) error { return tx.AddReadConflictKey([]byte("k")) },
	"add_read_conflict_range": func(_ testing.TB, tx kv.Transaction) error { return tx.AddReadConflictRange(guarded) },
	"watch": func(_ testing.TB, tx kv.Transaction) error {
		tx.Watch([]byte("k"))
		return nil
	},
	"snapshot get":       func(t testing.TB, tx kv.Transaction) error { return getErr(t, tx.Snapshot(), "k") },
	"snapshot get_key":   func(t testing.TB, tx kv.Transaction) error { return selectErr(t, tx.Snapshot()) },
	"snapshot get_range": func(_ testing.TB, tx kv.Transaction) error { return rangeErr(tx.Snapshot(), false) },
}

var guarded = kv.KeyRange{Begin: []byte("k"), End: []byte("l")}

func selectErr(t testing.TB, tx kv.ReadTransaction) error {
	_, err := tx.GetKey(kv.FirstGreaterOrEqual([]byte("k"))).Get(t.Context())
	return err
}

func rangeErr(tx kv.ReadTransaction, reverse bool) error {
	_, err := readPairs(tx, guarded, kv.RangeOptions{Reverse: reverse})
	return err
}

// matrixWrites are all calls that add write conflict ranges, made on key, which
// is of one byte.
var matrixWrites = map[string]func(tx kv.Transaction, key string){
	"set":         func(tx kv.Transaction, key string) { tx.Set([]byte(key), []byte("new")) },
	"clear":       func(tx kv.Transaction, key string) { tx.Clear([]byte(key)) },
	"clear_range": func(tx kv.Transaction, key string) { tx.ClearRange(around(key)) },
	"atomic":      func(tx kv.Transaction, key string) { tx.Atomic(kv.Add, []byte(key), []byte{1}) },
	"versionstamped value": func(tx kv.Transaction, key string) {
		tx.Atomic(kv.SetVersionstampedValue, []byte(key), make([]byte, 14))
	},
	"versionstamped key": func(tx kv.Transaction, key string) {
		tx.Atomic(kv.SetVersionstampedKey, append([]byte(key), append(make([]byte, 10), 1, 0, 0, 0)...), nil)
	},
	"add_write_conflict_key":   func(tx kv.Transaction, key string) { _ = tx.AddWriteConflictKey([]byte(key)) },
	"add_write_conflict_range": func(tx kv.Transaction, key string) { _ = tx.AddWriteConflictRange(around(key)) },
}

func around(key string) kv.KeyRange {
	return kv.KeyRange{Begin: []byte(key), End: append([]byte(key), 0)}
}

// sees reports whether a read of the matrix covers what a write to k changes: a
// versionstamped key is some other key that begins with k.
func sees(read, write string) bool {
	if write != "versionstamped key" {
		return true
	}
	return strings.HasPrefix(read, "get_range") || read == "add_read_conflict_range"
}

// TestConflictMatrix commits each kind of write between each kind of read and
// its transaction's commit: on the key that was read, on another, and without
// write conflict range.
func TestConflictMatrix(t *testing.T) {
	db := memoryWith(t)
	for read, call := range matrixReads {
		for write := range matrixWrites {
			snapshot := strings.HasPrefix(read, "snapshot")
			check := func(how, key string, silent bool, want kv.Code) {
				t.Helper()
				transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("k"), []byte("old")) })
				reader := begin(t, db)
				readVersion(t, reader)
				wantCode(t, read, call(t, reader), 0)
				reader.Set([]byte("z"), nil)
				transact(t, db, func(tx kv.Transaction) {
					if silent {
						wantCode(t, "SetOption", tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0), 0)
					}
					matrixWrites[write](tx, key)
				})
				wantCode(t, read+", "+write+" "+how, reader.Commit(t.Context()), want)
			}
			hit := kv.Code(0)
			if !snapshot && sees(read, write) {
				hit = kv.CodeNotCommitted
			}
			check("on what was read", "k", false, hit)
			check("elsewhere", "q", false, 0)
			// A versionstamped key adds its range in any case; so does what is
			// no write.
			if write != "versionstamped key" && !strings.HasPrefix(write, "add_") {
				hit = 0
			}
			check("without conflict range", "k", true, hit)
		}
	}
}
