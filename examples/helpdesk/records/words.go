// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"
	"strings"
	"unicode"
)

// maxWords bounds how many entries a ticket has in the index on Words.
const maxWords = 20

// Words returns the distinct words of a text in lower case, ascending, at most 20.
func Words(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), maxWords)]
}
