// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// TestConflictFoundAfterSplits writes one key that a transaction has read, and
// then ever more keys that are no write conflict ranges: the conflict is found
// however the window's tree has grown by then.
func TestConflictFoundAfterSplits(t *testing.T) {
	db := memoryWith(t)
	r := db.committer.resolver
	read := []kv.KeyRange{keys.Single([]byte("key 999999"))}
	before := readVersion(t, begin(t, db))
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key 999999"), nil) })
	for i := range 3 * 32 * 32 {
		transact(t, db, func(tx kv.Transaction) {
			if err := tx.SetOption(kv.OptionNextWriteNoWriteConflictRange, 0); err != nil {
				t.Fatal(err)
			}
			tx.Set(fmt.Appendf(nil, "key %06d", i), nil)
		})
		if !r.conflicts(read, before) {
			t.Fatalf("after %d other keys the conflict is not found", i+1)
		}
	}
}
