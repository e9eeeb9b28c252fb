// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// TestConflictFoundAfterSplits writes one key that a transaction has read, and
// then ever more keys that are no write conflict ranges: the conflict is found
// however the window's tree has grown by then.
func TestConflictFoundAfterSplits(t *testing.T) {
	w := NewMemoryWindow()
	r := NewResolver(w)
	const before = 100
	write := func(key []byte, version int64, conflict bool) {
		m := mutation.Mutation{Op: mutation.OpSet, Key: key, Value: []byte{}}
		if !conflict {
			r.Preserve(&m)
		}
		w.Apply(&m, version, conflict)
	}
	read := []kv.KeyRange{keys.Single([]byte("key 999999"))}
	write(read[0].Begin, before+1, true)
	for i := range 3 * 32 * 32 {
		write(fmt.Appendf(nil, "key %06d", i), before+2+int64(i), false)
		if !r.Conflicts(read, before) {
			t.Fatalf("after %d other keys the conflict is not found", i+1)
		}
	}
}
