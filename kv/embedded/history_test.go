// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// TestVersionOfAnOpenTransaction chooses the read version of a transaction that
// is still open, with more commits behind it than the history holds by itself.
func TestVersionOfAnOpenTransaction(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key := []byte("n")
	commit := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			err := db.Transact(t.Context(), func(tx kv.Transaction) error {
				tx.Set(key, binary.BigEndian.AppendUint64(nil, uint64(i)))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	const at, commits = 2500, 1024
	db.head.past.limit = commits * 1000
	commit(0, at+1)
	open := begin(t, db)
	version, err := open.GetReadVersion().Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commit(at+1, at+3*commits)
	runtime.GC()

	other := begin(t, db)
	other.SetReadVersion(version)
	got, err := other.Get(key).Get(t.Context())
	if want := binary.BigEndian.AppendUint64(nil, at); err != nil || !bytes.Equal(got, want) {
		t.Errorf("at the version of the open transaction: %x, %v, want %x", got, err, want)
	}
	if n := len(db.head.past.views); n < 3*commits {
		t.Errorf("the history has %d views, fewer than there were commits", n)
	}
	runtime.KeepAlive(open)
}

func begin(t *testing.T, db *Database) kv.Transaction {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Cancel)
	return tx
}
