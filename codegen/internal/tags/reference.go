// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"go/token"
)

// Reference is what the options of a field say of the records that it refers to.
type Reference struct {
	To string // the Go name of their type; "" for a field that refers to none
	As string // the name of the method that reads them; "" for the one made of the field's name

	Check    bool // writes check that they exist
	Restrict bool // they cannot be deleted
	Cascade  bool // with one of them the record is deleted
}

// set applies an option with a value, and returns its fault.
func (r *Reference) set(w word) (message string, at int) {
	if !token.IsIdentifier(w.value) {
		return fmt.Sprintf("%s=%s is not a name; %s", w.key, w.value, map[string]string{
			"ref": "write the type of the records that the field refers to, which is one of this package: ref=Customer",
			"as":  "write the name of the method that reads the records: as=Customers",
		}[w.key]), w.valueOffset()
	}
	if w.key == "ref" {
		r.To = w.value
		return "", 0
	}
	if r.As = w.value; !token.IsExported(w.value) {
		return fmt.Sprintf("as=%s names a method of the store, so it begins with a capital letter", w.value), w.valueOffset()
	}
	return "", 0
}
