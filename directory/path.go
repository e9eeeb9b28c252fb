// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"slices"
	"strconv"
	"strings"
)

// hasPrefix reports whether path begins with the elements of prefix.
func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// join returns a new path.
func join(a, b []string) []string { return slices.Concat(a, b) }

// pathString shows a path without doubt about its elements: ("a", "b/c").
func pathString(path []string) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, name := range path {
		if i > 0 {
			b.WriteString(", ")
		}
		if len(name) > 64 {
			b.WriteString(strconv.Quote(name[:64]) + "…")
			continue
		}
		b.WriteString(strconv.Quote(name))
	}
	b.WriteByte(')')
	return b.String()
}
