// SPDX-License-Identifier: Apache-2.0

package index

import "strings"

// recountSuffix ends the key names of indexes that recount another one. No name of a
// type, a field or a kind has a tilde.
const recountSuffix = "~recount"

// Recount returns the definition of an index that counts anew what d, a count or a sum,
// counts: it has the same layout and a name of its own. A verification builds it, compares
// the two, and removes it.
func (d *Definition) Recount() *Definition {
	r := *d
	r.Name += recountSuffix
	return &r
}

// CutRecount returns the key name of the index that the one with that key name
// recounts, and whether it recounts one.
func CutRecount(keyName string) (of string, ok bool) {
	return strings.CutSuffix(keyName, recountSuffix)
}
