// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

// Suggest returns "; did you mean X?" for the word nearest to the misspelt
// one, or, where none is near, the list of the valid words.
func Suggest(word string, valid []string) string {
	best, distance := nearest.Word(word, valid)
	switch {
	case len(valid) == 0:
		return ""
	case distance <= len(word)/2:
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return "; valid are " + strings.Join(valid, ", ")
}
