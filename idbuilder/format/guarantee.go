// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"math"
)

// Guarantee says how unique the IDs of a Format are.
type Guarantee struct {
	// Certain says that no two IDs are equal, as long as no number of a counter is used
	// twice.
	Certain bool
	// Century says that IDs repeat after a hundred years, since they show two digits of
	// the year in which a counter begins anew.
	Century bool
	// Bits is the number of random bits in each ID. If the guarantee is not
	// certain, uniqueness rests on them.
	Bits float64
}

// CollisionOdds returns the probability that among n IDs two are equal: that of
// the birthday problem, for IDs that differ in their random characters alone. It
// is 0 if the guarantee is certain.
func (g Guarantee) CollisionOdds(n float64) float64 {
	if g.Certain || n < 2 {
		return 0
	}
	return -math.Expm1(-n * (n - 1) / 2 / math.Exp2(g.Bits))
}

// String returns the guarantee in a sentence.
func (g Guarantee) String() string {
	switch {
	case g.Certain && g.Century:
		return "every ID is unique for a hundred years, until the two digits of the year repeat"
	case g.Certain:
		return "every ID is unique"
	}
	many := math.Sqrt(2 * math.Ln2 * math.Exp2(g.Bits)) // one half
	return fmt.Sprintf("IDs are unique by odds alone: of %.2g IDs two are equal with a probability of one half; add an auto-increment part to be certain", many)
}

var dateFor = map[Reset]string{ResetYear: "yyyy", ResetMonth: "yyyyMM", ResetDate: "yyyyMMdd"}

// Digits of the year that a date needs to tell one period from another: two are enough
// for a hundred years.
const (
	twoDigits  = 2
	fourDigits = 4
)
