// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// classifyID decides how IDs are made, or refuses the ID field's type.
func (c *collector) classifyID(r *model.Record) {
	f := r.IDField
	bad := func(message string, args ...any) { c.Add(f.At, f.Subject, message, args...) }
	if !f.Options.ID && (f.Options.Index || f.Options.Unique) {
		bad("records are found by their ID without an index; remove index and unique")
	}
	if f.Options.Number > tags.IDNumber {
		bad("the ID is field 1; remove number=%d", f.Options.Number)
	}
	if f.Kind == nil {
		return
	}
	switch f.Kind.Form {
	case model.FormID:
		r.IDKind = model.IDKazahana
	case model.FormULID:
		r.IDKind = model.IDULID
	case model.FormUUID:
		r.IDKind = model.IDUUID
	case model.FormString:
		r.IDKind = model.IDULIDString
	case model.FormBool, model.FormInt, model.FormUint, model.FormFloat32, model.FormFloat64, model.FormBytes, model.FormArray:
	case model.FormPointer:
		bad("an ID cannot be null, so its type cannot be a pointer; use %s", c.typeText(f.Kind.Elem.GoType))
	default:
		bad("%s cannot be an ID; use idgen.ID, a string, ulid.ULID, a UUID, an integer, a float, bool, []byte or [N]byte",
			c.typeText(f.Kind.GoType))
	}
}
