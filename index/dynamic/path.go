// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// path is the way from the type to a field, through nested messages held once.
type path []*schema.Field

// findPath looks up a field by its name in keys, such as Address.City.
func findPath(s *schema.Schema, name string) (path, error) {
	var p path
	for block := s.Type(); ; {
		step, rest, more := strings.Cut(name, ".")
		f := block.Field(step)
		if f == nil {
			return nil, fmt.Errorf("the schema of the store has no field %s in %s", step, block.Name)
		}
		p, name = append(p, f), rest
		if !more {
			return p, nil
		}
		k, _ := schema.ParseKind(f.Kind)
		if block = s.Message(f); block == nil || k.Wrap != "" && k.Wrap != "*" {
			return nil, fmt.Errorf("the field %s of the store is %s, which holds no field %s", step, f.Kind, rest)
		}
	}
}

// nullable tells whether a step of a path may be null.
type nullable int

const (
	never   nullable = iota
	always           // in all programs
	changed          // in some programs, since the field was changed
)

func nullableOf(f *schema.Field) nullable {
	isPointer := func(kind string) bool { return strings.HasPrefix(kind, "*") }
	switch is := isPointer(f.Kind); {
	case slices.ContainsFunc(f.Was, func(kind string) bool { return isPointer(kind) != is }):
		return changed
	case is:
		return always
	}
	return never
}

// nulls returns at which steps the path may be null, given whether the index says
// that it may be. A program that has the field as a pointer and one that has not
// give an index different layouts. But of a path of several steps the layout does
// not tell which of them is the pointer.
func (p path) nulls(null bool) ([]bool, error) {
	steps := make([]bool, len(p))
	var certain, open int
	for i, f := range p {
		switch nullableOf(f) {
		case always:
			steps[i] = true
			certain++
		case changed:
			steps[i] = null
			open++
		}
	}
	switch {
	case !null && certain > 0:
		return nil, fmt.Errorf("the field %s may be null in the store, and not in the index", p)
	case null && certain+open == 0:
		return nil, fmt.Errorf("the field %s may be null in the index, and not in the store", p)
	case null && open > 0 && certain+open > 1:
		return nil, fmt.Errorf("the field %s was changed, so that it may be null at several of its steps, and the layout does not tell at which", p)
	}
	return steps, nil
}

// String is the field's name in keys.
func (p path) String() string {
	names := make([]string, len(p))
	for i, f := range p {
		names[i] = f.Name
	}
	return strings.Join(names, ".")
}

// last returns the field at the end.
func (p path) last() *schema.Field { return p[len(p)-1] }
