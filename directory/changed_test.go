// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// TestVersionSet: a version is known as long as a transaction that reads it
// may commit, counted from its last mark, and not for ever.
func TestVersionSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := versionSet{last: map[int64]time.Time{}}
		s.markVersion(1)
		time.Sleep(markLifetime / 2)
		s.markVersion(2)
		s.markVersion(1)
		for _, version := range []int64{1, 2} {
			if _, readable := s.startRead(nil, version); readable {
				t.Errorf("version %d is not known", version)
			}
		}
		time.Sleep(kv.MaxTransactionAge + time.Second)
		s.markVersion(3) // the first mark of 1 is old by now, the second is not
		if _, readable := s.startRead(nil, 1); readable {
			t.Error("version 1 was forgotten with its first mark")
		}
		time.Sleep(markLifetime + time.Second)
		for version := range int64(2 * keptMarks) {
			s.markVersion(version)
		}
		if _, readable := s.startRead(nil, 1); readable || len(s.last) != 2*keptMarks {
			t.Errorf("%d of %d versions are known", len(s.last), 2*keptMarks)
		}
		time.Sleep(markLifetime + time.Second)
		s.markVersion(3 * keptMarks)
		if len(s.last) != keptMarks || len(s.order) != keptMarks {
			t.Errorf("%d versions and %d marks are kept, want %d", len(s.last), len(s.order), keptMarks)
		}
	})
}

// TestSlowInvalidation: a transaction that has called Invalidate and takes longer than one may
// is too old, even if others call it at the same time, and so is retried.
func TestSlowInvalidation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		db, err := embedded.OpenMemory() // its clock is the bubble's
		if err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		err = Invalidate(ctx, tx)
		time.Sleep(2*markLifetime + time.Second)
		err = errors.Join(err, db.Transact(ctx, func(tx kv.Transaction) error { return Invalidate(ctx, tx) }))
		_, ok, readErr := MetadataVersion(ctx, tx)
		if err = errors.Join(err, readErr); ok || err != nil {
			t.Errorf("MetadataVersion in the slow transaction: %v, %v", ok, err)
		}
		if err := tx.Commit(ctx); kv.CodeOf(err) != kv.CodeTransactionTooOld {
			t.Errorf("Commit = %v, want 1007", err)
		}
		tx.Cancel()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
