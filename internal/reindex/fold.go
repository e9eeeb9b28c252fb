// SPDX-License-Identifier: Apache-2.0

package reindex

import (
	"errors"

	"github.com/kazahana-db/kazahana/tuple"
)

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
