// SPDX-License-Identifier: Apache-2.0

// Package nearest finds the word that is nearest to a mistyped one.
//
//	word, distance := nearest.Word("server.prot", []string{"server.port", "server.host"}) // server.port, 1
package nearest

import "strings"

// Word returns the first of the words that are the fewest edits away from the
// mistyped one, and how many; "" if there are no words.
func Word(mistyped string, words []string) (word string, distance int) {
	for i, w := range words {
		if d := Distance(mistyped, w); i == 0 || d < distance {
			word, distance = w, d
		}
	}
	return word, distance
}

// Distance is the number of insertions, deletions, substitutions and swaps of
// neighbouring bytes between two words, apart from case: the optimal string
// alignment distance (Damerau, "A technique for computer detection and
// correction of spelling errors", 1964), in three rows.
func Distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	before, previous := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(previous[j]+1, row[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}
