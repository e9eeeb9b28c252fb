// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
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
		s.markVersion(4)
		if len(s.last) != 1 || len(s.order) != 1 {
			t.Errorf("%d versions and %d marks are kept, want 1", len(s.last), len(s.order))
		}
	})
}
