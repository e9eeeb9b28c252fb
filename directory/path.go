// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checkPath reports the first element that can be no directory's name: empty
// (unless the layer allows it) or not UTF-8. Elements that are too long are
// found where their key is made.
func (l *Layer) checkPath(path []string) error {
	for i, name := range path {
		if name == "" && !l.options.AllowEmptyNames {
			return &PathError{slices.Clone(path), i, "is empty"}
		}
		if !utf8.ValidString(name) {
			return &PathError{slices.Clone(path), i, "is not valid UTF-8"}
		}
	}
	return nil
}

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
