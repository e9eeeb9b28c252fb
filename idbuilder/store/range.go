// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Advance returns to what value a reservation moves a sequence that has the
// value from: by r.Count steps, or fewer where r.Bound is near; [ErrExhausted]
// if not even one fits. It does not overflow.
func (r Reservation) Advance(from int64) (to int64, err error) {
	room := uint64(r.Bound) - uint64(from) // exact in two's complement if from is before the bound
	step := uint64(r.Step)
	before := from < r.Bound
	if r.Step < 0 {
		room, step, before = uint64(from)-uint64(r.Bound), -step, from > r.Bound
	}
	steps := min(room/step, uint64(r.Count))
	if !before || steps == 0 {
		return from, ErrExhausted
	}
	return int64(uint64(from) + steps*uint64(r.Step)), nil
}

// Validate reports what is wrong with a reservation.
func (r Reservation) Validate() error {
	if r.Step == 0 || r.Count < 1 {
		return fmt.Errorf("store: a reservation of %d numbers with the step %d: there must be 1 or more, and a step that is not 0", r.Count, r.Step)
	}
	return nil
}

// Steps returns how many numbers a range has.
func (r Range) Steps(step int64) int64 {
	if step < 0 {
		return int64((uint64(r.From) - uint64(r.To)) / -uint64(step))
	}
	return int64((uint64(r.To) - uint64(r.From)) / uint64(step))
}

// CheckName reports whether a text can be the name of a sequence or the key of
// a document.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("store: the name is empty")
	case len(name) > 255:
		return fmt.Errorf("store: the name has %d bytes, allowed are 255", len(name))
	case !utf8.ValidString(name):
		return fmt.Errorf("store: the name %q is not UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("store: the name %q has a control character", name)
	}
	return nil
}
