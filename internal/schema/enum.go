// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Enum is the constants of a Go type that fields have. Records store their values, so
// these must keep their meaning. A persist.lock has those of all fields, the schema of one
// type those of its fields with the option enum.
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

	Confirmed bool // the source lacks it, and its author knows that stored values have no name any more
}

// confirmed ends the line of what was removed, if its author knows the consequences.
const confirmed = "confirmed"

// NameOf returns the name that tools show for a value; "" if no constant has it.
func (e *Enum) NameOf(value string) string {
	for _, c := range e.Constants {
		if !c.Any && c.Value == value {
			return c.Name
		}
	}
	return ""
}

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
	if c.Confirmed {
		text += " " + confirmed
	}
	return text
}

// unconfirmed returns the enumeration without what only its author needs to know.
func (e *Enum) unconfirmed() *Enum {
	one := *e
	one.Constants = nil
	for _, c := range e.Constants {
		bare := *c
		bare.Confirmed = false
		one.Constants = append(one.Constants, &bare)
	}
	return &one
}

func (e *Enum) writeText(out *bytes.Buffer) {
	fmt.Fprintf(out, "enum %s\n", e.Name)
	for _, c := range e.Constants {
		fmt.Fprintf(out, "\t%s\n", c.Text())
	}
}

// add adds a constant of a program, unless it is there, or has another name since. It
// reports whether that changes anything.
func (e *Enum) add(c *Constant) (changed bool) {
	if slices.ContainsFunc(e.Constants, func(newer *Constant) bool { return slices.Contains(newer.Was, c.Name) }) {
		return false
	}
	one := *c
	if same := e.Constant(c.Name); same != nil {
		one.Was = slices.Clone(same.Was)
		for _, name := range c.Was {
			if !slices.Contains(one.Was, name) {
				one.Was = append(one.Was, name)
			}
		}
		if same.Any {
			one.Value, one.Any = "", true
		}
		if one.Text() == same.Text() {
			return false
		}
	}
	at := slices.IndexFunc(e.Constants, func(old *Constant) bool { return old.Name == c.Name || slices.Contains(c.Was, old.Name) })
	e.Constants = slices.DeleteFunc(e.Constants, func(old *Constant) bool { return old.Name == c.Name || slices.Contains(c.Was, old.Name) })
	if at < 0 {
		at = len(e.Constants)
	}
	e.Constants = slices.Insert(e.Constants, at, &one)
	return true
}

// hasName reports whether a constant in use has a value.
func (e *Enum) hasName(value string) bool {
	return slices.ContainsFunc(e.Constants, func(c *Constant) bool { return !c.Gone && !c.Any && c.Value == value })
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
