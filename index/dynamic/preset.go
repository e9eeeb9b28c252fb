// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"time"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// preset returns the default of a field as it would be stored, behind the tag; nil if
// the field has none. A record that lacks the field has it.
func preset(f *schema.Field) []byte {
	v, _ := schema.ParseDefault(f.Kind, f.Default) // the schema was parsed
	switch v := v.(type) {
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case string:
		return wire.AppendString(nil, v)
	case uint64:
		return wire.AppendVarint(nil, v)
	case int64:
		if f.Kind == "duration" {
			return wire.AppendDuration(nil, time.Duration(v))
		}
		return wire.AppendZigzag(nil, v)
	case float64:
		if f.Kind == "float" {
			return wire.AppendFloat32(nil, float32(v))
		}
		return wire.AppendFloat64(nil, v)
	}
	return nil
}
