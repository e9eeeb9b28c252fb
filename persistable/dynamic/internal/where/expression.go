// SPDX-License-Identifier: Apache-2.0

package where

import "fmt"

// Expression is a condition: a comparison, or several conditions.
type Expression struct {
	Comparison *Comparison // nil: All or Any
	All        []Expression
	Any        []Expression
}

// Comparison compares a field with a value, or, by the operator in, with several.
type Comparison struct {
	Field    string
	Operator string
	Values   []Value
}

// Value is a value as it was written.
type Value struct {
	Text   string
	Quoted bool // so that null is a text
}

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.Text == "null" && !v.Quoted }

// Error is a fault of a text.
type Error struct {
	At     int // the number of the character, from 1
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("at character %d: %s", e.At, e.Reason) }
