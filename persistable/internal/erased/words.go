// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"iter"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// Words is what an index of the kind Search is asked for.
type Words struct {
	Of     []string // folded, each once
	Text   []string // folded, in their order
	Any    bool     // one of them is enough
	Phrase bool     // the texts have them one after the other
	Begun  bool     // the last one is the beginning of a word
	Split  func(string) iter.Seq[string]
}

// Bounds returns the range of the i-th word in the index.
func (w *Words) Bounds(i int) index.Bounds {
	element := tuple.AppendString(nil, w.Of[i])
	if w.isBegun(i) {
		return Prefix.Narrow(index.Bounds{}, PrefixOf(element))
	}
	return index.Bounds{}.Equal(element)
}

// isBegun reports whether the i-th word is the beginning of one.
func (w *Words) isBegun(i int) bool { return w.Begun && i == len(w.Of)-1 }

// Match returns how many of the words a record has, given its own; 0 if these do not match.
func (w *Words) Match(has func(index.Bounds) bool) (n int) {
	for i := range w.Of {
		if has(w.Bounds(i)) {
			n++
		}
	}
	if !w.Any && n < len(w.Of) {
		return 0
	}
	return n
}

// IsIn reports whether a text has the words one after the other.
func (w *Words) IsIn(text string) bool {
	words := slices.Collect(w.Split(text))
	for i := range words {
		if w.isAt(words[i:]) {
			return true
		}
	}
	return false
}

// isAt reports whether a text begins with the words.
func (w *Words) isAt(words []string) bool {
	last := len(w.Text) - 1
	if len(words) <= last {
		return false
	}
	for i, word := range w.Text {
		if words[i] != word && !(w.Begun && i == last && strings.HasPrefix(words[i], word)) {
			return false
		}
	}
	return true
}

// AppendBytes appends what tells the words from others: what a page token is bound to.
func (w *Words) AppendBytes(b []byte) []byte {
	for _, set := range []bool{w.Any, w.Phrase, w.Begun} {
		b = tuple.AppendBool(b, set)
	}
	for _, word := range w.Text {
		b = tuple.AppendString(b, word)
	}
	return b
}

// Union is several ranges of indexes.
type Union struct {
	Lanes        []Plan
	Alternatives []Conjunction // for each lane, all conditions of its records
	Merged       bool          // the lanes have one order, that of their keys after the values with equality
	Disjoint     bool          // no record is in two of them
}

// Search is the ways to read the records of some alternatives. For each
// alternative a run takes the first way with readable indexes.
type Search struct {
	Question     []Conjunction // the conditions as they were given
	Alternatives []Conjunction // one of which each record fulfils: the question, or ranges of it
	Lanes        [][]Plan      // for each alternative its ways, the best first; where there are several, each is one range
	Disjoint     bool          // no record fulfils two alternatives
	Scan         *Plan         // of all records, where an alternative has no way; nil: that is not allowed
}
