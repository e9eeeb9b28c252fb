// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"strings"
)

// AppendBytes appends a byte string. A nil v is an empty byte string; for the
// nil element see [AppendNil].
func AppendBytes(dst, v []byte) []byte {
	dst = append(dst, codeBytes)
	for {
		i := bytes.IndexByte(v, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, v[:i+1]...), escape)
		v = v[i+1:]
	}
	return append(append(dst, v...), 0)
}

// AppendString appends a string. It need not be UTF-8 here, though other
// languages' layers may refuse to decode it otherwise.
func AppendString(dst []byte, v string) []byte {
	dst = append(dst, codeString)
	for {
		i := strings.IndexByte(v, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, v[:i+1]...), escape)
		v = v[i+1:]
	}
	return append(append(dst, v...), 0)
}

// ReadBytes decodes the byte string that b begins with, into memory of its
// own, never nil.
func ReadBytes(b []byte) (v, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeBytes {
		return nil, nil, wrongType(b, "a byte string")
	}
	t, fail := frameText(b)
	if fail != nil {
		return nil, nil, fail
	}
	return t.bytes(), b[t.size:], nil
}

// ReadString decodes the string that b begins with.
func ReadString(b []byte) (v string, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeString {
		return "", nil, wrongType(b, "a string")
	}
	t, fail := frameText(b)
	if fail != nil {
		return "", nil, fail
	}
	return t.string(), b[t.size:], nil
}

// BorrowString returns the bytes of the string that b begins with: those of b itself,
// unless the string has zero bytes.
func BorrowString(b []byte) (v, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeString {
		return nil, nil, wrongType(b, "a string")
	}
	t, fail := frameText(b)
	if fail != nil {
		return nil, nil, fail
	}
	if t.escapes > 0 {
		return t.bytes(), b[t.size:], nil
	}
	return t.content, b[t.size:], nil
}

// text is the frame of a packed byte string or string.
type text struct {
	content []byte // still escaped, without code and terminator
	escapes int    // how many zero bytes it holds
	size    int    // of the whole element
}

// frameText finds the end of the byte string or string that b begins with: the
// first zero byte that no escape follows.
func frameText(b []byte) (text, *DecodeError) {
	for i, escapes := 1, 0; ; escapes++ {
		zero := bytes.IndexByte(b[i:], 0)
		if zero < 0 {
			return frameUnended(b, i, escapes)
		}
		i += zero + 1
		if i == len(b) || b[i] != escape {
			return text{b[1 : i-1], escapes, i}, nil
		}
		i++
	}
}

// frameUnended does with a text without an end what the official Go layer
// does. From start on, which is after the last escape, b holds no zero byte:
// the last of the escapes that stand there in a row serves as the end. Without
// one, the escape of the last zero byte serves, and without that the text is
// malformed.
func frameUnended(b []byte, start, escapes int) (text, *DecodeError) {
	next := start
	for next < len(b) && b[next] == escape {
		next++
	}
	if next == 1 {
		return text{}, fault(b, ErrMalformed, "%s has no end", kindName(b[0]))
	}
	if next == start {
		escapes--
	}
	return text{b[1 : next-1], escapes, next}, nil
}

// bytes returns the content unescaped, in memory of its own.
func (t text) bytes() []byte {
	v := make([]byte, 0, len(t.content)-t.escapes)
	rest := t.content
	for range t.escapes {
		i := bytes.IndexByte(rest, 0)
		v = append(v, rest[:i+1]...)
		rest = rest[i+2:]
	}
	return append(v, rest...)
}

func (t text) string() string {
	if t.escapes == 0 {
		return string(t.content)
	}
	var v strings.Builder
	v.Grow(len(t.content) - t.escapes)
	rest := t.content
	for range t.escapes {
		i := bytes.IndexByte(rest, 0)
		v.Write(rest[:i+1])
		rest = rest[i+2:]
	}
	v.Write(rest)
	return v.String()
}
