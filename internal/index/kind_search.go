// SPDX-License-Identifier: Apache-2.0

package index

// Search is the kind with one entry for each word of a record: that of the texts of all fields,
// folded, and after it the id. Fields are the texts; keys do not tell from which one a word is.
const Search Kind = "search"

var searchKind = descriptor{
	kind: Search, idempotent: true, hasEntries: true, endsInID: true, needsFields: true,
	element: "word", most: maxWords,
	maintain: (*maintenance).maintainEntries, fill: (*Fill).addEntries,
}

// maxWords is how many bytes of a transaction the entries of one record may take: a change of
// all words writes twice as many.
const maxWords = 4_000_000
