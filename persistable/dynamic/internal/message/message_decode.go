// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/wire"
)

// decode reads a further occurrence of the message, which changes and completes what
// those before it have set.
func (m *Message) decode(b []byte, s *wire.Strings, depth int) error {
	if depth == 0 {
		return &wire.Error{Reason: fmt.Sprintf("messages are nested more than %d deep", maxDepth)}
	}
	r := s.NewReader(b)
	for r.Next() {
		i, found := m.Type.numbered(r.Field())
		if !found {
			r.Skip()
			continue
		}
		m.values[i] = m.Type.Fields[i].read(m.values[i], &r, s, depth)
	}
	return r.Err()
}
