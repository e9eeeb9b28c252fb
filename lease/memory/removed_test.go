// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"

	"github.com/kazahana-db/kazahana/lease"
)

// TestNothingIsLeftOfAService empties a service: the store forgets it, so that
// services which come and go take no memory.
func TestNothingIsLeftOfAService(t *testing.T) {
	store := NewStore(nil)
	for _, value := range [][]byte{[]byte("v"), nil} {
		err := store.Update(t.Context(), "made-up", func(tx lease.Tx) error {
			if value == nil {
				tx.Delete([]byte("k"))
			} else {
				tx.Set([]byte("k"), value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(store.services); n != 0 {
		t.Errorf("%d services are in memory, want none", n)
	}
}
