// SPDX-License-Identifier: Apache-2.0

package reindex

import (
	"errors"
	"iter"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// split yields the words of a text; nil in a program without the tables for it. It is set
// before main begins.
var split func(string) iter.Seq[string]

// SetSplit tells how texts are split into words. Package words calls it when it is initialized.
func SetSplit(f func(string) iter.Seq[string]) { split = f }

// errCannotSplit: the program has no tables.
var errCannotSplit = errors.New("it is found by words, and this program has no Unicode tables: import " +
	`_ "github.com/kazahana-db/kazahana/persistable/persistabletext"`)

// addTexts adds the entries of the words of all fields.
func (p *Program) addTexts(e *index.Entries, s *state) {
	for i := range p.keys {
		c := &p.keys[i]
		switch {
		case c.slice:
			for n := range s.slots[c.slot].ends {
				addText(e, c.ascending(s, n))
			}
		case !c.isNull(s):
			addText(e, c.ascending(s, 0))
		}
	}
}

// addText adds the entries of the words of a text, which is an element of a key.
func addText(e *index.Entries, element []byte) {
	if text, _, err := tuple.ReadString(element); err == nil {
		e.AddText(text, split)
	}
}

// fold folds the text of a field; nil in a program without the tables for it. It is set
// before main begins.
var fold func(string) string

// SetFold tells how texts are folded. Package fold calls it when it is initialized.
func SetFold(f func(string) string) { fold = f }

// errCannotFold: the program has no tables.
var errCannotFold = errors.New("its texts are folded, and this program has no Unicode tables: import " +
	`_ "github.com/kazahana-db/kazahana/persistable/persistabletext"`)

// appendFolded appends the folded form of an element of a text. Null stays null.
func appendFolded(k, element []byte) []byte {
	text, _, err := tuple.ReadString(element)
	if err != nil {
		return append(k, element...)
	}
	return tuple.AppendString(k, fold(text))
}
