// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"math"
	"math/big"

	"github.com/google/go-cmp/cmp"
)

// exact compares tuples by type and value, floats by their bits.
var exact = cmp.Options{
	cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
}
