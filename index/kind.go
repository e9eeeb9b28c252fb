// SPDX-License-Identifier: Apache-2.0

package index

import "strings"

// Kind is what the entries of an index say.
type Kind string

// The kinds of indexes.
const (
	// Value: one entry for each record and key, from which the record is found.
	Value Kind = ""
	// Count: one entry for each group of records, with their number.
	Count Kind = "count"
	// Sum: one entry for each group of records, with the sum of one field.
	Sum Kind = "sum"
	// Version: one entry for each record, in the order of the commits that last
	// wrote the records.
	Version Kind = "version"
	// Rank: a skip list of the records of each group, in the order of one field,
	// which tells the position of a value.
	Rank Kind = "rank"
)

// known reports whether this program can maintain indexes of the kind.
func (k Kind) known() bool {
	switch k {
	case Value, Count, Sum, Rank, Version:
		return true
	}
	return false
}

// Idempotent reports whether maintaining the entries of a record twice has the
// same result as once: then a build may write the entries of a record that a
// concurrent write maintains as well. An index of a kind that is not idempotent
// counts each record: a build must know which records it has counted, and a write
// maintains only those.
func (k Kind) Idempotent() bool { return k == Value || k == Version || k == Rank }

// HasEntries reports whether each record has entries of its own in an index of the kind,
// which name the record.
func (k Kind) HasEntries() bool { return k == Value || k == Rank }

// endsInID reports whether the keys that a [Set] gathers for an index of the kind
// end in the id of the record. Those of a unique index do not.
func (k Kind) endsInID() bool { return k == Value || k == Rank }

// Name returns the name of an index of the kind: as the function [Name] does, with
// the kind's word behind the type. A sum's first field is the one that it adds. No
// field has the name of a kind, because those of stored fields begin with a capital.
func (k Kind) Name(typ string, fields ...string) string {
	parts := []string{strings.ReplaceAll(typ, "_", "__")}
	if k != Value {
		parts = append(parts, string(k))
	}
	for _, field := range fields {
		parts = append(parts, strings.ReplaceAll(field, "_", "__"))
	}
	return strings.Join(parts, "_")
}

// HasTotals reports whether an entry of an index of the kind is a number to which each
// record of a group adds.
func (k Kind) HasTotals() bool { return k == Count || k == Sum }
