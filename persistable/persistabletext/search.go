// SPDX-License-Identifier: Apache-2.0

package persistabletext

import (
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/words"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// MaxWord is the size of the longest word that a search distinguishes, in bytes of UTF-8. Of longer
// ones only the beginning counts, in records and in what is searched for.
const MaxWord = words.MaxSize

// Words returns the words of a text, as a search index of the marker persistable.Search has them, in their order.
func Words(text string) []string { return slices.Collect(words.Split(text)) }

// AddWords adds the entries of the words of a text.
func AddWords[T ~string](e *index.Entries, text T) { e.AddText(string(text), words.Split) }

// Search returns the records that match the words of a text in the schema's i-th index, which is
// one of words; none if it has no words.
func Search[T, ID any](s *persistable.Store[T, ID], i int, text string, m persistable.Match) *persistable.Query[T] {
	spec := erased.QuerySpec{Source: *(*erased.Store[ID])(s).Source(), Plan: erased.Plan{Index: i}}
	if w := newWords(text, m); len(w.Of) > 0 {
		spec.Plan.Words = w
	} else {
		spec.Plan.Bounds = index.Bounds{}.EndBefore([]byte{})
	}
	return (*persistable.Query[T])(erased.NewQuery(spec))
}

func newWords(text string, m persistable.Match) *erased.Words {
	w := &erased.Words{Text: Words(text), Begun: m&persistable.Begun != 0, Split: words.Split}
	m &^= persistable.Begun
	w.Any, w.Phrase = m == persistable.AnyWord, m == persistable.Phrase
	whole, last := w.Text, []string(nil)
	if w.Begun && len(whole) > 0 {
		whole, last = whole[:len(whole)-1], whole[len(whole)-1:]
	}
	w.Of = append(slices.Compact(slices.Sorted(slices.Values(whole))), last...)
	return w
}
