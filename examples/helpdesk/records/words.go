// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"
	"strings"
	"unicode"
)

// maxWords bounds how many entries a ticket has in the index on Words.
const maxWords = 20

// Words returns the words of a ticket's subject by which it is found, at most 20.
func Words(subject string) []string {
	words := DistinctWords(subject)
	return words[:min(len(words), maxWords)]
}

// DistinctWords returns the distinct words of a text in lower case, ascending.
func DistinctWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(words)
	return slices.Compact(words)
}
