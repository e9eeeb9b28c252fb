// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// faults gathers what is wrong with a Config.
type faults []error

func (f *faults) add(field string, value any, format string, args ...any) {
	*f = append(*f, &ConfigError{Field: field, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// minimum checks ElectionTimeoutMin, where zero stands for the default.
func (f *faults) minimum(d time.Duration) {
	switch {
	case d < 0:
		f.positive("ElectionTimeoutMin", d)
	case d > maxTimeout:
		f.add("ElectionTimeoutMin", d, "overflows: it must be at most %v", maxTimeout)
	}
}

func (f *faults) positive(field string, d time.Duration) {
	if d <= 0 {
		f.add(field, d, "must be positive")
	}
}

func (f *faults) atLeastOne(field string, x float64) {
	if !(x >= 1) || math.IsInf(x, 1) { // NaN compares false
		f.add(field, x, "must be a finite number of at least 1")
	}
}

// millis converts a time in milliseconds; 0 if it has a fault.
func (f *faults) millis(field string, ms float64) time.Duration {
	switch ns := ms * float64(time.Millisecond); {
	case math.IsNaN(ms) || math.IsInf(ms, 0):
		f.add(field, ms, "must be a finite number of milliseconds")
	case ns < 1:
		f.add(field, ms, "must be positive: at least a nanosecond, in milliseconds")
	case ns > float64(maxTimeout):
		f.add(field, ms, "overflows: it must be at most %d milliseconds", maxTimeout.Milliseconds())
	default:
		return time.Duration(ns)
	}
	return 0
}

func (f *faults) join() error { return errors.Join(*f...) }
