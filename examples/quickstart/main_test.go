// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
)

// TestRunTwice runs the program twice on one folder, as the README says.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	checkTour(t, func(out io.Writer) error { return start(t.Context(), out, dir, "") })
}

// On the engine that layers are tested on: a cluster, if there is one.
func TestTour(t *testing.T) {
	engine := enginetest.Open(t)
	checkTour(t, func(out io.Writer) error { return run(t.Context(), out, engine) })
}

// checkTour runs the program twice and reads what it says.
func checkTour(t *testing.T, run func(io.Writer) error) {
	t.Helper()
	for i, want := range [][]string{
		{"This is the first run", "number A-1001", "leased: true", "is refused", "2 are paid now", "and often another id", "Tenants left: [tenant-1]"},
		{"tenant-1 has 3 orders from earlier runs", "number A-1004", "4 are paid now", "tenant-1: 6 orders"},
	} {
		var out strings.Builder
		if err := run(&out); err != nil {
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
