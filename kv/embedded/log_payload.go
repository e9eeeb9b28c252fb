// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The writes in a frame's payload, one after another: a kind, then one or two
// strings of bytes, each after its length as a varint.
const (
	logClear      = 0 // key
	logSet        = 1 // key, value
	logClearRange = 2 // begin, end
)

// appendChange encodes a resolved mutation: a set, a clear or a range clear.
func appendChange(b []byte, m *mutation) []byte {
	switch {
	case m.op == opClearRange:
		return appendString(appendString(append(b, logClearRange), m.key), m.value)
	case m.value == nil:
		return appendString(append(b, logClear), m.key)
	}
	return appendString(appendString(append(b, logSet), m.key), m.value)
}

func appendString(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errPayload = errors.New("the payload is malformed")

// decodeChanges calls apply with each mutation of a payload, in order. The
// mutations do not share the payload's memory.
func decodeChanges(payload []byte, apply func(mutation)) error {
	for len(payload) > 0 {
		kind := payload[0]
		if kind > logClearRange {
			return fmt.Errorf("%w: no kind of write has the number %d", errPayload, kind)
		}
		key, rest, ok := cutString(payload[1:])
		m := mutation{op: opSet, key: key}
		if ok && kind != logClear {
			m.value, rest, ok = cutString(rest)
		}
		if !ok {
			return fmt.Errorf("%w: it ends in the middle of a write", errPayload)
		}
		if kind == logClearRange {
			m.op = opClearRange
		}
		apply(m)
		payload = rest
	}
	return nil
}

// cutString takes a copy of the string that b begins with.
func cutString(b []byte) (s, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return ownBytes(b[n:end]), b[end:], true
}
