// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// mostDescribed is how many directories a description lists.
const mostDescribed = 10

// Describe returns lines that say what is in a directory.
func (n *Node) Describe() []string {
	lines := []string{fmt.Sprintf("%s: %s, %s, about %s", database.QuotePath(n.Path),
		Plural(n.Total.Directories, "directory", "directories"), Plural(n.Total.Stores, "store", "stores"), shell.Size(n.Total.Bytes))}
	stored := slices.DeleteFunc(slices.Collect(n.All), func(d *Node) bool { return len(d.Headers) == 0 })
	for i, d := range stored {
		if i == mostDescribed {
			return append(lines, fmt.Sprintf("  … and %d more with types", len(stored)-i))
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", database.QuotePath(d.Path), strings.Join(d.Types(), ", ")))
	}
	return lines
}

// Plural returns a number with its noun.
func Plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", several)
}
