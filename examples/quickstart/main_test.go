// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestRunTwice runs the program twice on one folder, as the README says.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	for i, want := range [][]string{
		{"This is the first run", "number A-1001", "leased: true", "is refused", "2 are paid now", "Tenants left: [tenant-1]"},
		{"tenant-1 has 3 orders from earlier runs", "number A-1004", "4 are paid now", "tenant-1: 6 orders"},
	} {
		var out strings.Builder
		if err := run(t.Context(), &out, dir); err != nil {
			t.Fatalf("run %d: %v\n%s", i+1, err, out.String())
		}
		if strings.Contains(out.String(), "leased: false") {
			t.Errorf("run %d made fallback IDs:\n%s", i+1, out.String())
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("run %d does not say %q:\n%s", i+1, text, out.String())
			}
		}
	}
}
