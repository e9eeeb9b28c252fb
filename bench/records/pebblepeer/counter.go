// SPDX-License-Identifier: Apache-2.0

package pebblepeer

import (
	"encoding/binary"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// counter adds the operands, of eight bytes each.
var counter = &pebble.Merger{
	Name: "counter",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		s := sum(binary.LittleEndian.Uint64(value))
		return &s, nil
	},
}

// one is the operand that adds 1.
var one = binary.LittleEndian.AppendUint64(nil, 1)

type sum uint64

// MergeNewer implements [pebble.ValueMerger].
func (s *sum) MergeNewer(value []byte) error {
	*s += sum(binary.LittleEndian.Uint64(value))
	return nil
}

// MergeOlder implements [pebble.ValueMerger].
func (s *sum) MergeOlder(value []byte) error { return s.MergeNewer(value) }

// Finish implements [pebble.ValueMerger].
func (s *sum) Finish(bool) ([]byte, io.Closer, error) {
	return binary.LittleEndian.AppendUint64(nil, uint64(*s)), nil, nil
}
