// SPDX-License-Identifier: Apache-2.0

package codegen

// idKind is how the IDs of a record are made.
type idKind int

// The ways to make IDs.
const (
	idAssigned   idKind = iota // by the user
	idKazahana                 // idgen.NewID
	idULID                     // idgen.NewULID
	idULIDString               // idgen.NewULIDString
	idUUID                     // idgen.NewUUID
)

// describe names the ID kind for comments.
func (k idKind) describe() string {
	return [...]string{"assigned by the caller", "a kazahana ID", "a ULID", "a ULID in text form", "a UUID of version 7"}[k]
}

// classifyID decides how IDs are made, or refuses the ID field's type.
func (c *collector) classifyID(r *record) {
	f := r.idField
	bad := func(message string, args ...any) { c.add(f.at, f.subject, message, args...) }
	if !f.options.id && (f.options.index || f.options.unique) {
		bad("records are found by their ID without an index; remove index and unique")
	}
	if f.options.number > idNumber {
		bad("the ID is field 1; remove number=%d", f.options.number)
	}
	if f.typ == nil {
		return
	}
	switch f.typ.form {
	case formID:
		r.id = idKazahana
	case formULID:
		r.id = idULID
	case formUUID:
		r.id = idUUID
	case formString:
		r.id = idULIDString
	case formBool, formInt, formUint, formFloat32, formFloat64, formBytes, formArray:
	case formPointer:
		bad("an ID cannot be null, so its type cannot be a pointer; use %s", c.typeText(f.typ.elem.goType))
	default:
		bad("%s cannot be an ID; use idgen.ID, a string, ulid.ULID, a UUID, an integer, a float, bool, []byte or [N]byte",
			c.typeText(f.typ.goType))
	}
}
