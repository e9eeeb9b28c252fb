// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"
)

// Fault is one fault of the configuration.
type Fault struct {
	Key    string // path; the name of the variable or flag, if there is no such key
	Value  string // as it is shown: without secrets
	Origin string // file:line, a variable, a flag; "the default"; "" if a program set it
	Reason string // what is wrong, and what is allowed
}

// String returns the fault on one line.
func (f Fault) String() string {
	text := f.Key
	if f.Value != "" {
		text += " = " + f.Value
	}
	if f.Origin != "" && f.Origin != f.Key {
		text += " (" + f.Origin + ")"
	}
	return text + ": " + f.Reason
}

// Error has all faults of the configuration.
type Error struct{ Faults []Fault }

// Error implements error: a line for each fault.
func (e *Error) Error() string {
	if len(e.Faults) == 1 {
		return "configuration: " + e.Faults[0].String()
	}
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = "\n" + f.String()
	}
	return fmt.Sprintf("configuration: %d faults:%s", len(e.Faults), strings.Join(lines, ""))
}

// asError returns faults as an error, nil if there are none.
func asError(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{faults}
}

// show formats a value for a fault.
func show(k *key, value any) string {
	if isHider(k) {
		return showHidden(value)
	}
	switch v := value.(type) {
	case words:
		return quoteIfOdd(string(v))
	case string:
		return fmt.Sprintf("%q", shorten(v))
	}
	return shorten(fmt.Sprint(value))
}

// showHidden formats what can hold a password.
func showHidden(value any) string {
	switch v := value.(type) {
	case Secret, URL, []URL:
		return fmt.Sprint(v)
	}
	return hidden
}

func quoteIfOdd(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
		return fmt.Sprintf("%q", shorten(s))
	}
	return shorten(s)
}

// shorten cuts a text that would fill the screen.
func shorten(s string) string {
	const most = 200
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
