// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

var update = flag.Bool("update", false, "write testdata/format-1.stream anew")

// TestStoredStream imports a stream of format 1 that is kept as it was written.
func TestStoredStream(t *testing.T) {
	const file = "testdata/format-1.stream"
	if *update {
		db := open(t, enginetest.Open(t))
		someNotes(t, NoteStoreOf(db, "a"), "a", 4)
		check(t, os.WriteFile(file, export(t, tenants.Of(db, "rooms"), "a"), 0o600))
	}
	db := open(t, enginetest.Open(t))
	stream := must[[]byte](t)(os.ReadFile(file))
	p := must[tenants.Progress](t)(tenants.Of(db, "rooms").Import(ctx, "b", bytes.NewReader(stream), tenants.ImportOptions{}))
	s := NoteStoreOf(db, "b")
	for id := range int64(4) {
		n := must[*Note](t)(s.Get(ctx, id+1))
		if n.Room != "b" || n.Title != fmt.Sprint("title ", id) || !bytes.Equal(n.Body, bytes.Repeat([]byte{byte(id)}, 100)) {
			t.Errorf("note %d is %+v", id+1, n)
		}
	}
	sound(t, s.Indexes().Verify)
	if p.Pairs != 9 { // four records, four entries, a header
		t.Errorf("%+v", p)
	}
}
