// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// SchemaError says that other programs wrote a store with a schema that does not
// agree with this program's: this program would mix up values, or make the store
// unreadable for the others. It has read and written no record.
//
// The rules of evolution allow fields and indexes that only one of the programs
// knows, and changes of kinds that persist.lock records: these are no error.
type SchemaError struct {
	Type        string
	Path        []string // of the store's directory
	Differences []SchemaDifference
}

// SchemaDifference is one reason of a [SchemaError].
type SchemaDifference struct {
	Field   string // the names that lead to the field, with dots; empty if the type as a whole is meant
	Number  int32  // of the field; 0 if none is meant
	Store   string // what the store's header says: a package, directory, name, number or kind
	Program string // what this program says
	Reason  string // the difference in words
	Remedy  string // the ways out
}

// Error implements error.
func (e *SchemaError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "persistable: %s: the store in the directory %s has another schema than this program; nothing was read or written", e.Type, quotePath(e.Path))
	for i, d := range e.Differences {
		if i == maxDifferences {
			fmt.Fprintf(&b, "; and %d more differences", len(e.Differences)-i)
			break
		}
		b.WriteString("; " + d.Reason)
	}
	seen := map[string]bool{}
	for _, d := range e.Differences {
		if !seen[d.Remedy] {
			seen[d.Remedy] = true
			b.WriteString(": " + d.Remedy)
		}
	}
	return b.String()
}

// maxDifferences is how many differences the text of an error shows.
const maxDifferences = 5

// The ways out, by what differs.
const (
	remedyOrigin = "two packages have a type of this name and directory: give one of them another name with persistable.Type, or another directory; " +
		"if it is one type that moved, its block in persist.lock must move with it"
	remedyDirectory = "restore the Directory marker, or give the type another name with persistable.Type"
	remedyNumbers   = "if persist.lock was lost, emptied or merged by hand, restore it from version control and run go generate, then deploy that; " +
		"if the field was renamed, keep its stored name with name=; persistgen -check -against REVISION ./... finds this before a deployment; " +
		"for records of another kind give the type another name with persistable.Type"
	remedyKind    = "restore persist.lock from version control and run go generate; if the type of the field was changed, restore it or add a new field"
	remedyDefault = "restore the option default= that the store's records were written with; for another one add a new field"
	remedyWas     = "restore persist.lock from version control and run go generate; if the type of the field was changed and %s, tag it was=%s"
)

func remedyFor(d schema.Difference) string {
	switch d.Aspect {
	case schema.Origin:
		return remedyOrigin
	case schema.Directory:
		return remedyDirectory
	case schema.FieldName, schema.FieldNumber:
		return remedyNumbers
	case schema.FieldDefault:
		return remedyDefault
	}
	if len(d.Consequences) > 0 {
		return fmt.Sprintf(remedyWas, "what follows is meant ("+strings.Join(d.Consequences, "; ")+")", d.There)
	}
	return remedyKind
}
