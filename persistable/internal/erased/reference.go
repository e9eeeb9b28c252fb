// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"fmt"

	"github.com/kazahana-db/kazahana/tuple"
)

// Relations are the references of a type to others, and those of others to it that its deletions
// look at. They are made while the program is initialized, and do not change after that.
type Relations struct {
	References []*Reference
	Referrers  []*Reference
}

// Reference is a field with ids of records of a type.
type Reference struct {
	// Field is the field, as Schema.Values has it.
	Field string
	// Args are, for each {Field} of the directory of the other type, which one it is of this type's.
	Args []int

	// Check has writes check that the records exist.
	Check bool
	// OnDelete is what becomes of the records that refer to one when that is deleted.
	OnDelete OnDelete
	// Index is which index has the field as its first one, and BackArgs are Args the other way
	// round. Both are needed unless OnDelete is Leave.
	Index    int
	BackArgs []int

	from, to *Schema
}

// OnDelete is what becomes of records when the one to which they refer is deleted.
type OnDelete int

// What may become of them.
const (
	Leave    OnDelete = iota // nothing
	Restrict                 // they prevent the deletion
	Cascade                  // they are deleted, too
)

// Refer adds a reference from the records of a type to those of another.
func Refer(from, to *Schema, r Reference) {
	r.from, r.to = from, to
	from.relations().References = append(from.relations().References, &r)
	if r.OnDelete != Leave {
		to.relations().Referrers = append(to.relations().Referrers, &r)
	}
}

// From returns the type that refers.
func (r *Reference) From() *Schema { return r.from }

// To returns the type that is referred to.
func (r *Reference) To() *Schema { return r.to }

// ToArgs returns the directory arguments of the records that are referred to, from those of the
// records that refer.
func (r *Reference) ToArgs(from []string) []string { return pick(from, r.Args) }

// FromArgs is ToArgs the other way round.
func (r *Reference) FromArgs(to []string) []string { return pick(to, r.BackArgs) }

func pick(args []string, which []int) []string {
	list := make([]string, len(which))
	for i, n := range which {
		list[i] = args[n]
	}
	return list
}

// AppendIDs appends the packed ids to which a record refers. Null and an id that is not set refer
// to nothing.
func (r *Reference) AppendIDs(ids [][]byte, record any) ([][]byte, error) {
	values := r.from.Values(r.Field, nil, record)
	for len(values) > 0 {
		rest, err := tuple.Skip(values)
		if err != nil {
			return nil, fmt.Errorf("persistable: %s: the field %s cannot be read as ids: %w", r.from.Type, r.Field, err)
		}
		id := values[: len(values)-len(rest) : len(values)-len(rest)]
		if values = rest; r.to.IDs.isSet(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
