// SPDX-License-Identifier: Apache-2.0

package format

import (
	"math/rand/v2"
	"time"
)

// Sample returns an example of the format's IDs at a time, with the number 1 of each
// counter and always the same random characters; "" if the clock is before the base of a
// timestamp. It consumes nothing.
func (f *Format) Sample(now time.Time) string {
	numbers := make([]int64, len(f.Counters()))
	for i := range numbers {
		numbers[i] = 1
	}
	id, err := f.Append(nil, now, numbers, rand.NewChaCha8([32]byte{}))
	if err != nil {
		return ""
	}
	return string(id)
}
