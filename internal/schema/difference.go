// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
)

// Aspect is what a difference is about.
type Aspect int

// The differences. Those of the second group are of successions only.
const (
	Origin       Aspect = iota // another type, of another Go package
	Directory                  // the same path would mean other records
	ID                         // records would be under other keys
	FieldName                  // one number, two names
	FieldNumber                // one name, two numbers
	FieldKind                  // a kind that does not follow from the other
	FieldDefault               // records without the field would have another value

	Forgotten  // a type or number that the old text has and the new one lacks
	Moved      // a field moved into a nested struct, or out of one
	Replaced   // a nested struct is another one
	Removed    // a type or a field left the source, and the new text does not confirm that
	Renumbered // a constant of an enumeration has another value
	Reused     // a value of an enumeration belongs to another constant
)

// Difference is a change between two schemas of a type, There and Here: of a
// store and a program, or of an old lock and a new one.
type Difference struct {
	Aspect      Aspect
	Allowed     bool   // and said so: only its consequences are to be told
	Path        string // the names of the fields that lead there; "" for the type
	Number      int32  // of the last field of the path; 0 if that is not meant
	There, Here string // what each has: names, numbers, kinds, by Aspect

	// Of FieldKind: what becomes of stored values. If it is not empty then the
	// change is allowed where Here's field says was=There.
	Consequences []string

	ThereBlock, HereBlock *Block // of the field, or the type; nil if one has none
	ThereField, HereField *Field // nil if one has none

	ThereConstant, HereConstant *Constant // of Renumbered and Reused
}

// Text says what differs, with words for the two sides: "the store", "this
// program".
func (d *Difference) Text(there, here string) string {
	switch d.Aspect {
	case Origin:
		return fmt.Sprintf("it belongs to the package %s in %s, and to %s in %s", d.There, there, d.Here, here)
	case Directory:
		return fmt.Sprintf("its directory is %s in %s, and %s in %s", d.There, there, d.Here, here)
	case ID:
		return fmt.Sprintf("the kind of its id is %s in %s, and %s in %s", d.There, there, d.Here, here)
	case FieldName:
		return fmt.Sprintf("the number %d%s is the field %s in %s, and %s in %s", d.Number, d.within(), d.There, there, d.Here, here)
	case FieldNumber:
		return fmt.Sprintf("the field %s has the number %s in %s, and %s in %s", d.Path, d.There, there, d.Here, here)
	case FieldKind:
		return fmt.Sprintf("the field %s (%d) is %s in %s, and %s in %s", d.Path, d.Number, d.There, there, d.Here, here)
	case FieldDefault:
		return fmt.Sprintf("the default of the field %s (%d) is %s in %s, and %s in %s", d.Path, d.Number, d.There, there, d.Here, here)
	case Forgotten:
		return fmt.Sprintf("%s%s is in %s, and neither in use nor reserved in %s", d.There, d.within(), there, here)
	case Moved:
		return fmt.Sprintf("the field %s of %s is %s in %s", d.There, there, d.Here, here)
	case Removed:
		return fmt.Sprintf("%s is in use in %s, and not in %s", d.There, there, here)
	case Renumbered, Reused:
		return fmt.Sprintf("the field %s has the constant %s in %s, and %s in %s", d.Path, d.There, there, d.Here, here)
	default:
		return fmt.Sprintf("the field %s holds the struct %s in %s, and %s in %s", d.Path, d.There, there, d.Here, here)
	}
}

// within names the field of the message that has the difference.
func (d *Difference) within() string {
	if at := strings.LastIndexByte(d.Path, '.'); at > 0 {
		return " of " + d.Path[:at]
	}
	return ""
}
