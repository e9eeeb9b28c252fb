// SPDX-License-Identifier: Apache-2.0

// Package fold makes one text of all texts that differ in case only: what the keys of a
// folded field hold.
//
//	fold.String("STRASSE") == fold.String("Straße")
//
// It is the canonical caseless matching of the Unicode standard (D145), in the version
// [Unicode]: canonical decomposition, full case folding, and canonical composition (NFC).
// No language has rules of its own, so I and i are one letter in Turkish texts, too.
//
// Stored keys depend on it, so it never changes: not with the tables of a later
// golang.org/x/text either. A code point that [Unicode] does not assign stays as it is,
// and separates the texts around it. Of those that it assigns, the standard promises that
// no later version folds or composes them otherwise (Unicode Character Encoding Stability
// Policies). Tests compare the results for all code points with a recording.
//
// Only programs with folded fields, and tools, import this package, because of the size of
// the tables. It lets package reindex fold, too.
package fold

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/tuple"
)

// Unicode is the version of the standard. Indexes name it in their layouts.
const Unicode = index.FoldUnicode

func init() { reindex.SetFold(String) }

// String returns the folded text. Bytes that are not valid UTF-8 stay as they are.
func String(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	folded := make([]byte, 0, len(s)+len(s)/2)
	for len(s) > 0 {
		n := strings.IndexFunc(s, standsAlone)
		if n < 0 {
			n = len(s)
		}
		folded = append(folded, foldAssigned(s[:n])...)
		s = s[n:]
		for len(s) > 0 {
			r, size := utf8.DecodeRuneInString(s)
			if !standsAlone(r) {
				break
			}
			folded = appendAlone(folded, r, s[:size])
			s = s[size:]
		}
	}
	return string(folded)
}

// Element returns a tuple element of a text with the folded text. Other elements, such as
// null, stay as they are.
func Element(element []byte) []byte {
	text, _, err := tuple.ReadString(element)
	if err != nil {
		return element
	}
	return tuple.AppendString(nil, String(text))
}

// foldAssigned folds a text of assigned code points.
func foldAssigned(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// standsAlone reports whether a code point is left to [appendAlone]. It begins, in Unicode,
// what is composed and ordered after it, so that a text may be cut before it.
func standsAlone(r rune) bool {
	return r >= utf8.RuneSelf && (r == utf8.RuneError || isCherokee(r) || !IsAssigned(r))
}

// appendAlone appends the folded form of a code point that stands alone.
func appendAlone(b []byte, r rune, bytes string) []byte {
	if isCherokee(r) {
		return utf8.AppendRune(b, foldCherokee(r))
	}
	return append(b, bytes...)
}

// The letters of Cherokee. The capital ones are older, and small letters fold to them.
// golang.org/x/text 0.41 exchanges the two instead, so that they never match.
const (
	cherokee       = 0x13a0 // capital letters
	cherokeeSmall6 = 0x13f8 // the small letters of the last six
	cherokeeEnd    = 0x13fd
	cherokeeSmall  = 0xab70 // the small letters of the first eighty
	cherokeeLast   = 0xabbf
)

func isCherokee(r rune) bool {
	return r >= cherokee && r <= cherokeeEnd && IsAssigned(r) || r >= cherokeeSmall && r <= cherokeeLast
}

func foldCherokee(r rune) rune {
	switch {
	case r >= cherokeeSmall:
		return r - cherokeeSmall + cherokee
	case r >= cherokeeSmall6:
		return r - 8
	}
	return r
}
