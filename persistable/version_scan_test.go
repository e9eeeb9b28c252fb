// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestScanOfVersionsContinues lets each read of a scan with versions fail in turn: the next
// attempt goes on behind the last record that was yielded, and leaves out none.
func TestScanOfVersionsContinues(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := NoteStoreOf(open(t, engine))
	var want []int64
	for id := range int64(30) {
		check(t, s.Save(ctx, &Note{ID: id + 1, Text: "text"}))
		want = append(want, id+1)
	}
	for failing, failed := 1, true; failed; failing++ {
		failed = false
		engine.begin(func(n int) error {
			if n == failing {
				failed = true
				return kv.NewError(kv.CodeTransactionTooOld, "made up")
			}
			return nil
		}, nil)
		var got []int64
		for v, err := range s.Scan().All(ctx) {
			check(t, err)
			if v.Version.IsZero() {
				t.Errorf("note %d has no version", v.ID)
			}
			got = append(got, v.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after a failure of read %d the scan has %v", failing, got)
		}
	}
	engine.begin(nil, nil)
}
