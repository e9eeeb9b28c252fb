// SPDX-License-Identifier: Apache-2.0

package model

// IndexKind is what an index keeps, as package index names it.
type IndexKind string

// The kinds.
const (
	Value   IndexKind = "" // an entry for each record and value
	Count   IndexKind = "count"
	Sum     IndexKind = "sum"
	Rank    IndexKind = "rank"
	Version IndexKind = "version"
)

// Extreme is a Min or Max marker, which an index of kind Value answers.
type Extreme struct {
	Greatest bool
}

// verb is what the method's name begins with.
func (x Extreme) verb() string {
	if x.Greatest {
		return "Max"
	}
	return "Min"
}
