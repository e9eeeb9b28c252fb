// SPDX-License-Identifier: Apache-2.0

package keytext

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/tuple"
)

// About says in the help of a verb how keys are written.
const About = `
A key is written in one of three ways:
  (21, "R", "User", 42)     a tuple, as kazahana kv shows it
  0x1515025200              bytes in hexadecimal
  users/\x00alice           text, in which \xNN is a byte and \\ a backslash`

// Parse returns the key for a text in one of the forms of About.
func Parse(text string) ([]byte, error) {
	switch {
	case strings.HasPrefix(text, "("):
		t, err := parseTuple(text)
		if err != nil {
			return nil, fmt.Errorf("the key %s is not a tuple: %w", text, err)
		}
		return t.Pack()
	case strings.HasPrefix(text, "0x"):
		key, err := hex.DecodeString(text[2:])
		if err != nil {
			return nil, fmt.Errorf("the key %s is not hexadecimal: %w", text, err)
		}
		return key, nil
	}
	return parseEscaped(text)
}

// parseEscaped returns the bytes of a text with escapes.
func parseEscaped(text string) ([]byte, error) {
	var key []byte
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, `\`)
		key = append(key, before...)
		switch {
		case !found:
			return key, nil
		case strings.HasPrefix(after, `\`):
			key, rest = append(key, '\\'), after[1:]
			continue
		case len(after) < 3 || after[0] != 'x':
			return nil, fmt.Errorf(`the key %q has a backslash that begins neither \xNN nor \\`, text)
		}
		b, err := strconv.ParseUint(after[1:3], 16, 8)
		if err != nil {
			return nil, fmt.Errorf(`the key %q: \%s is no byte as \x0a is`, text, after[:3])
		}
		key, rest = append(key, byte(b)), after[3:]
	}
	return key, nil
}

// Format returns bytes as text for [Parse]: printable ASCII as it is, other bytes as
// \xNN.
func Format(bytes []byte) string {
	var b strings.Builder
	for i, c := range bytes {
		switch {
		case c == '\\':
			b.WriteString(`\\`)
		case c < ' ', c > '~', c == '(' && i == 0, c == '0' && i == 0 && len(bytes) > 1 && bytes[1] == 'x':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Tuple returns the text of a packed tuple; "" if the bytes are not one.
func Tuple(packed []byte) string {
	t, err := tuple.Unpack(packed)
	if err != nil || len(t) == 0 {
		return ""
	}
	return t.String()
}
