// SPDX-License-Identifier: Apache-2.0

package message

import (
	"errors"
	"fmt"
)

// Append appends the message in the protobuf wire format. It returns an *[Error] for a
// text that is not valid UTF-8, and for messages that are nested too deeply.
func (m *Message) Append(b []byte) ([]byte, error) { return m.append(b, maxDepth) }

func (m *Message) append(b []byte, depth int) (_ []byte, err error) {
	if depth == 0 {
		return b, &Error{Reason: fmt.Sprintf("it is nested more than %d deep", maxDepth)}
	}
	for i, f := range m.Type.Fields {
		if b, err = f.append(b, m.values[i], depth); err != nil {
			return b, within(f.Name, err)
		}
	}
	return b, nil
}

// within adds the name of a field to an *[Error].
func within(name string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e.in(name)
	}
	return err
}
