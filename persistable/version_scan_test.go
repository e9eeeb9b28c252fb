// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
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

// TestScanOfVersionsAfterWrites saves records ahead of a scan, in its loop. Each record comes
// once: as it was, with the version that it had, or as the transaction has saved it, with no
// version, which the commit will make.
func TestScanOfVersionsAfterWrites(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s, n := NoteStoreOf(db), 1500
		if strings.HasSuffix(t.Name(), "hostile") {
			n = 60 // in batches of any size
		}
		var notes []*Note
		for id := range n {
			notes = append(notes, &Note{ID: int64(id + 1), Text: "old"})
		}
		check(t, s.SaveMany(ctx, notes, persistable.BatchOptions{}))
		before := map[int64]persistable.Version{}
		for v, err := range s.Scan().All(ctx) {
			check(t, err)
			before[v.ID] = v.Version
		}
		for _, reverse := range []bool{false, true} {
			err := db.Transact(ctx, func(tx persistable.Tx) error {
				bound, seen := s.In(tx), 0
				for v, err := range turned(bound.Scan(), reverse).All(ctx) {
					if err != nil {
						return err
					}
					want := before[v.ID]
					if v.Text == "new" {
						want = persistable.Version{}
					}
					if seen++; v.Version != want {
						t.Errorf("in reverse %t: note %d with the text %q has version %v, want %v", reverse, v.ID, v.Text, v.Version, want)
					}
					if ahead := int64(n) - v.ID + 1; seen%20 == 1 {
						if err := bound.Save(ctx, &Note{ID: ahead, Text: "new"}); err != nil {
							return err
						}
					}
				}
				if seen != n {
					t.Errorf("in reverse %t: %d notes of %d come", reverse, seen, n)
				}
				return errStop
			})
			wantError(t, err, errStop)
		}
	})
}
