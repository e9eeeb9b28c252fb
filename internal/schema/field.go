// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Field is a field number in use, or reserved because it was.
type Field struct {
	Number   int32
	Name     string
	Kind     string
	Default  string   // what a record without the field has: a Go literal without spaces; "" for the zero value
	Was      []string // kinds that earlier programs gave it
	Reserved bool

	Enums     []string // in persist.lock only: the enumerations of the kind, those of a map's keys first
	Confirmed bool     // reserved, and its author knows that the stored values are left behind
	Line      int
}

// Text returns the field's line.
func (f *Field) Text() string {
	word, more := "field", ""
	if f.Reserved {
		word = "reserved"
	}
	if len(f.Enums) > 0 {
		more = " enum " + strings.Join(f.Enums, ",")
	}
	if f.Default != "" {
		more += " default " + f.Default
	}
	if len(f.Was) > 0 {
		more += " was " + strings.Join(f.Was, " ")
	}
	if f.Confirmed {
		more += " " + confirmed
	}
	return fmt.Sprintf("%s %d %s %s%s", word, f.Number, f.Name, f.Kind, more)
}

// allKinds are all kinds that a field has or had.
func (f *Field) allKinds() []string { return append([]string{f.Kind}, f.Was...) }

// hadKind reports whether a kind is one that the field had, whatever the messages
// in it are called.
func (f *Field) hadKind(kind string) bool {
	return slices.ContainsFunc(f.Was, func(k string) bool { return sameKind(k, kind) })
}

// cutOptions cuts the words after the kind of a field into its enumerations, its
// default and its former kinds. If it is lenient, it passes over other options, each of
// which is one word.
func (f *Field) cutOptions(words []string, lenient bool) (ok bool) {
	if len(words) < 4 {
		return false
	}
	rest := words[4:]
	skip := func() {
		for lenient && len(rest) > 0 && !slices.Contains([]string{"enum", "default", "was"}, rest[0]) {
			rest = rest[1:]
		}
	}
	if skip(); len(rest) > 1 && rest[0] == "enum" {
		f.Enums, rest = strings.Split(rest[1], ","), rest[2:]
	}
	if skip(); len(rest) > 1 && rest[0] == "default" {
		f.Default, rest = rest[1], rest[2:]
	}
	if skip(); len(rest) > 1 && rest[0] == "was" {
		f.Was, rest = slices.Clone(rest[1:]), nil
	}
	return len(rest) == 0
}
