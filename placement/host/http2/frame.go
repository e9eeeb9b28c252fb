// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// maxHead bounds a head: a chain of calls, or the tree of an error.
const maxHead = 1 << 20

// maxFrame bounds a body without its payload.
const maxFrame = maxHead + binary.MaxVarintLen64

// maxValues bounds the values in a head, a chain's keys for example. In a head of maxHead bytes are
// hundreds of thousands, of which each takes many times its size when it is decoded.
const maxValues = 10_000

// frame returns a body: the length of the head, the head, the payload.
func frame(head any, payload []byte) ([]byte, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if n := countValues(h); n > maxValues {
		return nil, fmt.Errorf("http2: the head has %d values; at most %d are allowed", n, maxValues)
	}
	if len(h) > maxHead {
		return nil, fmt.Errorf("http2: the head has %d bytes; at most %d are allowed", len(h), maxHead)
	}
	body := make([]byte, 0, binary.MaxVarintLen64+len(h)+len(payload))
	body = binary.AppendUvarint(body, uint64(len(h)))
	return append(append(body, h...), payload...), nil
}

// unframe decodes the head of a body and returns the payload, which is a part of it.
func unframe(body []byte, head any) (payload []byte, err error) {
	length, n := binary.Uvarint(body)
	if n <= 0 || length > maxHead || length > uint64(len(body)-n) {
		return nil, errors.New("http2: the body does not begin with the length of a head")
	}
	if countValues(body[n:n+int(length)]) > maxValues {
		return nil, fmt.Errorf("http2: the head has more than %d values", maxValues)
	}
	if err := json.Unmarshal(body[n:n+int(length)], head); err != nil {
		return nil, fmt.Errorf("http2: the head cannot be read: %w", err)
	}
	return body[n+int(length):], nil
}

// countValues returns how many objects, arrays and elements of them a JSON text has at most, without
// decoding it.
func countValues(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++ // the next character is a part of the string
		case !quoted && (c == '{' || c == '[' || c == ','):
			n++
		}
	}
	return n
}
