// SPDX-License-Identifier: Apache-2.0

package rangesize_test

import (
	"encoding/binary"
	"testing"

	"github.com/kazahana-db/kazahana/internal/rangesize"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// TestOf: small ranges are counted, however the engine's sample is; of larger ones few pairs are read.
func TestOf(t *testing.T) {
	db, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n, want := range map[int]struct{ least, most, read int64 }{
		0:    {0, 0, 0},
		1:    {14, 14, 14},
		1000: {14_000, 14_000, 14_000},
		1001: {14_014, 100_000, 14_014},
		9000: {100_000, 200_000, 14_014}, // the engine's estimate, or the pairs that were read
	} {
		var size, read int64
		err := db.Transact(t.Context(), func(tx kv.Transaction) error {
			tx.ClearRange(kv.KeyRange{Begin: []byte("k"), End: []byte("l")})
			for i := range n {
				tx.Set(binary.BigEndian.AppendUint32([]byte("k"), uint32(i)), []byte("123456789"))
			}
			return nil
		})
		if err == nil {
			err = db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) (err error) {
				size, read, err = rangesize.Of(t.Context(), tx, kv.KeyRange{Begin: []byte("k"), End: []byte("l")})
				return err
			})
		}
		if err != nil || size < want.least || size > want.most || read > want.read {
			t.Errorf("%d pairs: %d bytes, %d read, %v", n, size, read, err)
		}
	}
}
