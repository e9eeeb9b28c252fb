// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"
)

// didYouMean returns "; did you mean X?" for the word nearest to the misspelt
// one, or, where none is near, the list of the valid words.
func didYouMean(word string, valid []string) string {
	best, distance := "", len(word)/2+1
	for _, v := range valid {
		if d := editDistance(strings.ToLower(word), strings.ToLower(v)); d < distance {
			best, distance = v, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %s?", best)
	case len(valid) == 0:
		return ""
	}
	return "; valid are " + strings.Join(valid, ", ")
}

// editDistance is the number of insertions, deletions, substitutions and swaps
// of neighbours between a and b: the optimal string alignment distance
// (Damerau 1964), in three rows.
func editDistance(a, b string) int {
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
