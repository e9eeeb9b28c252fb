// SPDX-License-Identifier: Apache-2.0

package message

import (
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// Decode reads a message from bytes in the protobuf wire format, whose strings it makes
// of s, which may be nil. Malformed bytes, and values that are not of their field's kind,
// are a *[wire.Error]. Fields that the type does not have are left out.
func (t *Type) Decode(b []byte, s *wire.Strings) (*Message, error) {
	m := t.New()
	return m, m.decode(b, s, maxDepth)
}
