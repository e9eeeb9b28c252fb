// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// TestInvertedRange reads from behind \xff to a selector that finds no key: it ends at
// \xff, before it begins. Such a read is empty, and reads nothing of the view.
func TestInvertedRange(t *testing.T) {
	for _, withoutOwn := range []bool{false, true} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("without own writes %t, reverse %t", withoutOwn, reverse), func(t *testing.T) {
				tx := NewClient(&fakeEngine{view: newFakeView(map[string]string{"a": "1"}, false)}, kv.TransactionDefaults{}).Begin()
				defer tx.Cancel()
				if withoutOwn {
					if err := tx.SetOption(kv.OptionReadYourWritesDisable, 0); err != nil {
						t.Fatal(err)
					}
				}
				pairs, err := tx.GetRange(kv.SelectorRange{
					Begin: kv.FirstGreaterThan([]byte("\xff")),
					End:   kv.KeySelector{Key: []byte("a"), Offset: 5},
				}, kv.RangeOptions{Reverse: reverse}).Slice(t.Context())
				if err != nil || len(pairs) != 0 {
					t.Errorf("%q, %v, want nothing", pairs, err)
				}
			})
		}
	}
}
