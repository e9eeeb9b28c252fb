// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// The writes in a frame's payload, one after another: a kind, then one or two
// strings of bytes, each after its length as a varint.
const (
	kindClear      = 0 // key
	kindSet        = 1 // key, value
	kindClearRange = 2 // begin, end
)

// AppendMutation encodes a resolved mutation: a set, a clear or a range clear.
func AppendMutation(b []byte, m *mutation.Mutation) []byte {
	switch {
	case m.Op == mutation.OpClearRange:
		return appendString(appendString(append(b, kindClearRange), m.Key), m.Value)
	case m.Value == nil:
		return appendString(append(b, kindClear), m.Key)
	}
	return appendString(appendString(append(b, kindSet), m.Key), m.Value)
}

func appendString(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errPayload = errors.New("the payload is malformed")

// decodeChanges calls apply with each mutation of a payload, in order. The
// mutations do not share the payload's memory.
func decodeChanges(payload []byte, apply func(mutation.Mutation)) error {
	for len(payload) > 0 {
		kind := payload[0]
		if kind > kindClearRange {
			return fmt.Errorf("%w: no kind of write has the number %d", errPayload, kind)
		}
		key, rest, ok := cutString(payload[1:])
		m := mutation.Mutation{Op: mutation.OpSet, Key: key}
		if ok && kind != kindClear {
			m.Value, rest, ok = cutString(rest)
		}
		if !ok {
			return fmt.Errorf("%w: it ends in the middle of a write", errPayload)
		}
		if kind == kindClearRange {
			m.Op = mutation.OpClearRange
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
	return keys.Own(b[n:end]), b[end:], true
}
