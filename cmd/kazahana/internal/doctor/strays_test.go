// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"testing"
)

// TestManyStrays: keys that no store writes hide nothing of the stores among which they lie,
// however many there are, and wherever: some are read and reported, and all else is examined.
func TestManyStrays(t *testing.T) {
	db := seeded(t)
	const many, size = 200, 4000
	for name, front := range map[string][]any{
		"before all":            {"A"},
		"between letters":       {"K"},
		"before the header":     {"RX"},
		"after all":             {"W"},
		"with the letter alone": {"R", []byte("names of types are strings")},
		"after the names":       {"R", 7},
		"as no tuple":           {},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := db.Begin()
			check(t, err)
			defer tx.Cancel()
			w := world{t, tx}
			orphan := w.key("settings", "I", "Setting_Value", "bogus", "id")
			tx.Set(orphan, nil)
			for i := range many {
				tx.Set(append(w.key("settings", front...), 0x30, byte(i)), make([]byte, size))
			}
			reads := &expense{}
			found := damage{}.find(t, allowance{Database: view{db, tx}, spent: reads}, true)
			if codesOf(found) != "index/orphan-entry store/stray-key" || len(found) != 21 || reads.bytes > many*size/4 {
				t.Errorf("%d bytes were read, %d faults found: %v", reads.bytes, len(found), found)
			}
		})
	}
}
