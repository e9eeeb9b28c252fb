// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"iter"

	"github.com/kazahana-db/kazahana/tuple"
)

// AddText adds an entry for each word of a text, into which split splits it.
func (e *Entries) AddText(text string, split func(string) iter.Seq[string]) {
	if e.texts != nil {
		*e.texts = append(*e.texts, text)
		return
	}
	for word := range split(text) {
		e.End(tuple.AppendString(e.Begin(), word))
	}
}

// CollectTexts returns Entries that take the texts of a record in an index of the kind Search,
// and no entries.
func CollectTexts(texts *[]string) *Entries { return &Entries{texts: texts} }

// EntriesSizeError says that a record has more entries in an index than a transaction can write.
type EntriesSizeError struct {
	Definition *Definition
	Entries    int
}

// Error implements error.
func (e *EntriesSizeError) Error() string {
	return fmt.Sprintf("index: the texts have %d different words, and %s needs an entry for each: a transaction cannot write so many; shorten the texts, or divide them among several records",
		e.Entries, e.Definition.Name)
}

// checkSize returns an error if the entries of the index from span i on are too many.
func (e *Entries) checkSize(ix *Index, i int) error {
	most := ix.Kind.descriptor().most
	if most == 0 {
		return nil
	}
	size := 0
	for _, s := range e.spans[i:] {
		size += 3*(s.to-s.from) + plainOverhead
	}
	if size > most {
		return &EntriesSizeError{ix.Definition, len(e.spans) - i}
	}
	return nil
}
