// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// TestMeter compares what the meter counts of a check with the size of the folder.
func TestMeter(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	db, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Transact(t.Context(), func(tx kv.Transaction) error {
		for i := range 100 {
			tx.Set(fmt.Appendf(nil, "key %d", i), make([]byte, 10_000))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var last, calls int64
	show := func(read int64) {
		if read < last {
			t.Errorf("%d bytes after %d", read, last)
		}
		last = read
		calls++
	}
	if _, err := embedded.Verify(t.Context(), folder, embedded.Options{FS: newMeter(show)}); err != nil {
		t.Fatal(err)
	}
	if size := folderSize(folder); calls < 2 || last < size/2 || last > size*3 {
		t.Errorf("%d bytes read in %d calls of a folder with %d bytes", last, calls, size)
	}
}
