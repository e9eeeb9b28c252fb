// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// KeepFields returns the fields of a message that have one of the numbers.
func KeepFields(message []byte, numbers []int32) (kept []byte, err error) {
	for len(message) > 0 {
		number, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if slices.Contains(numbers, int32(number)) {
			kept = append(kept, message[:n]...)
		}
		message = message[n:]
	}
	return kept, nil
}
