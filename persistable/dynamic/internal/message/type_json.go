// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

// ParseJSON reads a message from a JSON object. A member that is missing leaves its field
// zero, null or its default, as [Type.New] has it. Whatever cannot be is an *[Error], with
// the member, its line and what is wanted: a member that the type does not have, or that
// comes twice; a value that is not of the field's kind.
func (t *Type) ParseJSON(text []byte) (*Message, error) {
	p := &parser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	if at := invalidUTF8(text); at >= 0 {
		return nil, &Error{Line: 1 + bytes.Count(text[:at], []byte("\n")), Reason: "a byte is not valid UTF-8"}
	}
	m, err := p.parseObject(t, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, p.fault("something follows the object; one record is one object")
	}
	return m, nil
}

// invalidUTF8 returns where the text is not valid UTF-8, -1 if it is.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// suggestion names the field that is probably meant.
func (t *Type) suggestion(name string) string {
	var names []string
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	if near, distance := nearest.Word(name, names); near != "" && distance <= 2 {
		return "; did you mean " + near + "?"
	}
	return "; there are " + strings.Join(names, ", ")
}
