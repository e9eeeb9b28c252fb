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

// frame returns a body: the length of the head, the head, the payload.
func frame(head any, payload []byte) ([]byte, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return nil, err
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
	if err := json.Unmarshal(body[n:n+int(length)], head); err != nil {
		return nil, fmt.Errorf("http2: the head cannot be read: %w", err)
	}
	return body[n+int(length):], nil
}
