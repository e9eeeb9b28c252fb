// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Conflict is something that a transaction had read when another one changed it.
type Conflict struct {
	// Type is the type's name in keys; "" if the keys are of no store that the transaction
	// has opened: keys of the program's own, or of the directory layer.
	Type string
	// Path is the directory of the store: that of the tenant.
	Path []string
	// Index is the name of the index whose entry changed; "" for a record or the store's header.
	Index string
	// Fields are the fields of the index.
	Fields []string
	// Values are the values of the entry, in the order of Fields, as far as they are those of
	// all keys that were read; nil for a record.
	Values tuple.Tuple
	// ID is the record's id, in its own type; nil if several records were read, and for an
	// index.
	ID any
	// Header tells that the store's header changed: the schema, or the state of an index.
	Header bool
	// Range is what was read.
	Range kv.KeyRange
}

// String says what changed: "the index Order_Number, Number = "A-1", of Order in
// tenants/tenant-1/orders".
func (c Conflict) String() string {
	of := c.Type + " in " + strings.Join(c.Path, "/")
	switch {
	case c.Type == "":
		return fmt.Sprintf("keys from %s to %s", tuple.Describe(c.Range.Begin), tuple.Describe(c.Range.End))
	case c.Header:
		return "the header of " + of
	case c.Index != "" && len(c.Values) > 0:
		return fmt.Sprintf("the index %s, %s, of %s", c.Index, c.valuesText(), of)
	case c.Index != "":
		return fmt.Sprintf("the index %s of %s", c.Index, of)
	case c.ID == nil:
		return "records of " + of
	}
	return fmt.Sprintf("the record %v of %s", c.ID, of)
}

// valuesText lists the fields and their values.
func (c Conflict) valuesText() string {
	var parts []string
	for i, v := range c.Values {
		parts = append(parts, c.Fields[i]+" = "+strings.Trim(tuple.Tuple{v}.String(), "()"))
	}
	return strings.Join(parts, ", ")
}
