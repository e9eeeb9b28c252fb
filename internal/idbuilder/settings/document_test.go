// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

var update = flag.Bool("update", false, "rewrite the table in docs/idbuilder.md")

// TestDocumented compares the table of the documentation with the keys.
func TestDocumented(t *testing.T) {
	const document, begin, end = "../../../docs/idbuilder.md", "-update -->\n", "<!-- end of settings -->"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no place for the table", document)
	}
	want := tableOfKeys()
	if *update {
		if err := os.WriteFile(document, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("%s has another table than the keys make: run this test with -update", document)
	}
}

func tableOfKeys() string {
	var b strings.Builder
	b.WriteString("| key | default | allowed | |\n|---|---|---|---|\n")
	for _, k := range settings.Keys() {
		about := k.About
		if len(k.Aliases) > 0 {
			about += "; also `" + strings.Join(k.Aliases, "`, `") + "`"
		}
		standard := ""
		if k.Default != "" {
			standard = "`" + k.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, standard, k.Allowed, about)
	}
	return b.String()
}
