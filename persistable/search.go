// SPDX-License-Identifier: Apache-2.0

package persistable

// Match is which records a method of a [Search] finds for the words of a text. A record has a word
// if one of the texts that the marker names has it, in any case.
type Match int

// The matches.
const (
	// AllWords: records that have all of the words, in the order of their ids.
	AllWords Match = iota
	// AnyWord: records that have at least one of the words; those with most of them first, and
	// those with as many in the order of their ids.
	AnyWord
	// Phrase: records of which a text has the words one after the other. It is AllWords with a
	// filter, for which [Query.FilterLimit] holds.
	Phrase

	// Begun is added to one of the others (AllWords|Begun): of the last word the text has only the
	// beginning, as while a user is typing.
	Begun Match = 1 << 8
)

// DefaultSearchLimit is how many entries a search may read, one for each word of each record that
// has it, unless [Query.FilterLimit] says otherwise. A search that would have to read more returns
// an [ErrFilterLimit].
const DefaultSearchLimit = 100_000
