// SPDX-License-Identifier: Apache-2.0

// Package persistabletext has the functions of texts that generated code calls for types with
// folded fields, or with the marker Search. Only programs with such types link the tables of
// Unicode, by this package.
//
// A program without such a type of its own can write to the stores of a program that has one
// only if it imports the package, because each write maintains the indexes of others:
//
//	import _ "github.com/kazahana-db/kazahana/persistable/persistabletext"
//
// Deploy that before the tag, where old and new programs write at the same time.
package persistabletext

import (
	"github.com/kazahana-db/kazahana/internal/fold"
	"github.com/kazahana-db/kazahana/tuple"
)

// Fold returns a text as the keys of a folded field have it: two texts that differ in case only
// have one folded text. It is the canonical caseless matching of Unicode 15.0.0, by full case
// folding and NFC, without rules of a language. It never changes for a given text.
func Fold(text string) string { return fold.String(text) }

// AppendFolded appends the folded text of v to a key, as a tuple element.
func AppendFolded[T ~string](b []byte, v T) []byte {
	return tuple.AppendString(b, fold.String(string(v)))
}
