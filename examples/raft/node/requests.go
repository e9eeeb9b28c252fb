// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/binary"
	"errors"
)

// ErrOutcomeUnknown is returned by [Node.Put] if its context, or the node, ended before it was known that the
// value was set. It may be set later.
var ErrOutcomeUnknown = errors.New("node: the value may or may not be set")

// put is a write that waits to be applied.
type put struct {
	data     []byte
	proposed bool
	applied  chan struct{}
}

// get is a read that waits for its index, then for it to be applied.
type get struct {
	key    string
	asked  bool
	index  uint64 // 0: not known
	answer chan reply
}

type reply struct {
	value string
	found bool
}

func encodeRequest(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }
