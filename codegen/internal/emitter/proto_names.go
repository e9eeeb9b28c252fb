// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// fieldRemark says what the protobuf type and label of a field do not.
func fieldRemark(f *model.Field) string {
	text := remark(f.Kind)
	switch {
	case f.Default == "":
		return text
	case text == "":
		return " // by default " + f.Default
	}
	return text + ", by default " + f.Default
}

// remark says what the protobuf type does not.
func remark(k *model.Kind) string {
	for k.Elem != nil {
		k = k.Elem
	}
	switch k.Form {
	case model.FormInt, model.FormUint:
		if k.Width() < 64 {
			return fmt.Sprintf(" // %d bits", k.Width())
		}
	case model.FormArray:
		return fmt.Sprintf(" // %d bytes", k.Length)
	case model.FormUUID:
		return " // a UUID or other 16 bytes"
	case model.FormULID:
		return " // a ULID, 16 bytes"
	case model.FormBinary:
		return " // by MarshalBinary of " + k.GoType.String()
	case model.FormText:
		return " // by MarshalText of " + k.GoType.String()
	}
	return ""
}

// snakeCase spells a Go name as protobuf's style has it: TenantID → tenant_id.
func snakeCase(name string) string {
	var b strings.Builder
	r := []rune(name)
	if model.IsPluralInitialism(name) {
		return strings.ToLower(name)
	}
	for i, c := range r {
		if i > 0 && unicode.IsUpper(c) && r[i-1] != '_' &&
			(!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
