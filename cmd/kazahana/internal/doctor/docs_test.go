// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/index"
)

// TestDocument compares the table of findings in docs/operations.md with the codes.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| finding | severity | meaning | what to do |\n|---|---|---|---|\n")
	for _, c := range doctor.Codes() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", c.Name, c.Severity, c.Meaning, c.Remedy)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/operations.md does not have this table:\n%s", want.String())
	}
}

// TestKindsHaveCodes: an examination that finds a wrong key of an index names it by a code of
// the kind, and panics without one.
func TestKindsHaveCodes(t *testing.T) {
	for _, k := range index.Kinds() {
		code := "index/wrong-" + string(k)
		isCode := func(c doctor.Code) bool { return c.Name == code }
		if (k.HasTotals() || k.HasDerived()) && !slices.ContainsFunc(doctor.Codes(), isCode) {
			t.Errorf("there is no code %s", code)
		}
	}
}
