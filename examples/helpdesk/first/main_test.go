// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestRunTwice runs the program twice on one folder: the second run finds the first one's ticket.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		var out strings.Builder
		if err := run(t.Context(), &out, dir); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "open: The printer is on fire by ada@example.com\n"); n != i+1 {
			t.Errorf("run %d lists %d tickets:\n%s", i+1, n, out.String())
		}
	}
}
