// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"strconv"
)

// Threshold is how much of a reserved range is left when the next one is
// reserved: a fraction of the range, or a count of numbers, as the deployed
// worker has it. Whole numbers are counts.
type Threshold struct {
	Fraction float64 // 0 to 1, if Count is 0
	Count    int
}

// String returns the threshold as it is written in a configuration.
func (t Threshold) String() string {
	if t.Count > 0 {
		return strconv.Itoa(t.Count)
	}
	return strconv.FormatFloat(t.Fraction, 'f', -1, 64)
}

// Of returns the threshold as a fraction of a range with n numbers, from 0 to 1.
func (t Threshold) Of(n int) float64 {
	if t.Count > 0 {
		return min(1, float64(t.Count)/float64(n))
	}
	return t.Fraction
}

// remainder is a [Threshold].
type remainder struct{}

func (remainder) parseValue(raw any) (any, error) {
	if t, ok := raw.(words); ok {
		if n, err := strconv.ParseInt(string(t), 10, 64); err == nil {
			raw = n
		} else if f, err := strconv.ParseFloat(string(t), 64); err == nil {
			raw = f
		}
	}
	switch n := raw.(type) {
	case int64:
		return Threshold{Count: int(n)}, nil
	case float64:
		return Threshold{Fraction: n}, nil
	}
	return nil, errors.New("it must be a number")
}

func (k remainder) checkValue(value any) error {
	t := value.(Threshold)
	if t.Count < 0 || t.Count > 1_000_000_000 || !(t.Fraction >= 0 && t.Fraction <= 1) { // NaN is neither
		return errors.New("allowed are " + k.describeAllowed())
	}
	return nil
}

func (remainder) describeAllowed() string {
	return "0.0 to 1.0, a fraction, or 0 to 1000000000, a count without a decimal point"
}
