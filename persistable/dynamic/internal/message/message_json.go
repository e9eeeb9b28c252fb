// SPDX-License-Identifier: Apache-2.0

package message

// AppendJSON appends the message as a JSON object, on one line, with a member for each
// field in the order of their numbers. A message that is not stored is an empty object.
func (m *Message) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if m != nil {
		for i, f := range m.Type.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, f.Name), ':')
			b = f.appendJSON(b, m.values[i])
		}
	}
	return append(b, '}')
}
