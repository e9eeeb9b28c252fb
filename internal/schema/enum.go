// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Enum is the constants of a Go type that fields have. Records store their values, so
// these must keep their meaning.
type Enum struct {
	Name      string // of the type, with the import path if it is of another package
	Constants []*Constant
	Line      int
}

// Constant is a constant of an enumeration.
type Constant struct {
	Name  string
	Value string   // a Go literal without spaces
	Was   []string // former names of the value
	Any   bool     // no record has it, so it may change: a count or a limit; it has no Value
	Gone  bool     // the source lacks it; its value stays taken
	Line  int
}

// confirmed ends the line of what was removed, if its author knows the consequences.
const confirmed = "confirmed"

// Constant returns the constant with that name, or nil.
func (e *Enum) Constant(name string) *Constant {
	if e == nil {
		return nil
	}
	for _, c := range e.Constants {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Text returns the constant's line.
func (c *Constant) Text() string {
	text := "constant " + c.Name + " " + c.Value
	if c.Any {
		text += "any"
	}
	if len(c.Was) > 0 {
		text += " was " + strings.Join(c.Was, " ")
	}
	return text
}

func (e *Enum) writeText(out *bytes.Buffer) {
	fmt.Fprintf(out, "enum %s\n", e.Name)
	for _, c := range e.Constants {
		fmt.Fprintf(out, "\t%s\n", c.Text())
	}
}

// successorOf returns the constant that shows that stored values of old would be read as
// something else: old itself with another value, or another one with its value. It
// returns nil if they keep their meaning.
func successorOf(old *Constant, there, here *Enum) (Aspect, *Constant) {
	same := here.Constant(old.Name)
	switch {
	case old.Any || same != nil && same.Any:
		return 0, nil
	case same != nil && !same.Gone && same.Value != old.Value:
		return Renumbered, same
	case same != nil && !same.Gone:
		return 0, nil
	}
	var heir *Constant
	for _, c := range here.Constants {
		if c.Gone || c.Any || c.Value != old.Value {
			continue
		}
		if alias := there.Constant(c.Name); slices.Contains(c.Was, old.Name) || alias != nil && alias.Value == c.Value {
			return 0, nil
		}
		heir = c
	}
	return Reused, heir
}
