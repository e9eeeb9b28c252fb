// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"math/big"
)

// OverflowError says that a sum does not fit into the type of its method. The store
// keeps sums in 128 bits, so it is not lost: Sum has it.
type OverflowError struct {
	Type  string
	Field string   // whose values are added
	Sum   *big.Int // the whole sum
}

// Error implements error.
func (e *OverflowError) Error() string {
	return fmt.Sprintf("persistable: %s: the sum of %s is %v, which does not fit into 64 bits", e.Type, e.Field, e.Sum)
}
