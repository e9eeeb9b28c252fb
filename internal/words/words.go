// SPDX-License-Identifier: Apache-2.0

// Package words splits texts into the words by which a search index finds them.
//
//	for word := range words.Split("Der Drucker brennt!") // "der", "drucker", "brennt"
//
// The boundaries are those of Unicode text segmentation (UAX #29), by tables of Unicode 17. A
// segment is a word if it has a letter or a number that the version of package fold assigns: Go 1.26 and 1.27, with
// tables of different versions, find the same words. None is left out for being frequent. Each is folded, as
// package fold says. Each character of a script that does not separate words, such as the ideographs of Chinese
// or the letters of Thai, is a word.
//
// Only programs with search indexes, and tools, import this package, because of the size of
// the tables. It lets package reindex split, too.
package words

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/kazahana-db/kazahana/internal/fold"
	"github.com/kazahana-db/kazahana/internal/reindex"
)

// MaxSize is the size of the longest word, in bytes. Of longer ones only the beginning counts.
const MaxSize = 100

func init() { reindex.SetSplit(Split) }

// Split yields the words of a text, folded and in their order.
func Split(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for segments := words.FromString(text); segments.Next(); {
			if word := segments.Value(); strings.ContainsFunc(word, isPart) && !yield(cut(fold.String(word))) {
				return
			}
		}
	}
}

// isPart reports whether a segment with the character is a word.
func isPart(r rune) bool {
	return fold.IsAssigned(r) && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// cut returns the beginning of a word, in whole characters.
func cut(word string) string {
	if len(word) <= MaxSize {
		return word
	}
	n := MaxSize
	for n > 0 && !utf8.RuneStart(word[n]) {
		n--
	}
	return word[:n]
}
