// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"
)

// Status is how far a ticket has come. It is stored as a number, and is a word in JSON.
type Status int

// The states of a ticket.
const (
	Open Status = iota
	Waiting
	Closed
)

var statusNames = []string{"open", "waiting", "closed"}

// Statuses lists the states.
func Statuses() []Status { return []Status{Open, Waiting, Closed} }

// String names the status.
func (s Status) String() string { return name(statusNames, int(s)) }

// MarshalText implements [encoding.TextMarshaler].
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Status) UnmarshalText(text []byte) (err error) {
	*s, err = parse[Status]("status", statusNames, text)
	return err
}

func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

func parse[T ~int](what string, names []string, text []byte) (T, error) {
	i := slices.Index(names, string(text))
	if i < 0 {
		return 0, fmt.Errorf("%s: %q, want one of %q", what, text, names)
	}
	return T(i), nil
}
