// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"go/token"
	"strings"
)

// directory is where a record's keys are.
type directory struct {
	at       token.Position
	elements []directoryElement
}

// directoryElement is an element of the path with the field that it names.
type directoryElement struct {
	pathElement
	bound *field // nil for a constant name
}

// newDirectory returns the directory of a path, whose fields are not bound yet.
func newDirectory(at token.Position, path []pathElement) directory {
	d := directory{at: at}
	for _, e := range path {
		d.elements = append(d.elements, directoryElement{pathElement: e})
	}
	return d
}

// String is the path as it is written in the marker.
func (d directory) String() string {
	parts := make([]string, len(d.elements))
	for i, e := range d.elements {
		parts[i] = e.name
		if e.field != "" {
			parts[i] = "{" + e.field + "}"
		}
	}
	return strings.Join(parts, "/")
}

// stored is the path as persist.lock and the headers of stores keep it: fields by
// their key-stable names, so that a renamed Go field changes nothing, and two
// fields that change places do.
func (d directory) stored() string {
	parts := make([]string, len(d.elements))
	for i, e := range d.elements {
		parts[i] = e.name
		if e.field != "" {
			parts[i] = "{" + e.bound.name + "}"
		}
		if e.layer != "" {
			parts[i] += "(" + e.layer + ")"
		}
	}
	return strings.Join(parts, "/")
}

// fields returns the distinct fields of the path, in its order.
func (d directory) fields() []*field {
	var list []*field
	seen := map[string]bool{}
	for _, e := range d.elements {
		if e.bound != nil && !seen[e.field] {
			seen[e.field] = true
			list = append(list, e.bound)
		}
	}
	return list
}
