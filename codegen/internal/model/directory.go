// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/token"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// Directory is where a record's keys are.
type Directory struct {
	At       token.Position
	Elements []DirectoryElement
}

// DirectoryElement is an element of the path with the field that it names.
type DirectoryElement struct {
	tags.PathElement
	Bound *Field // nil for a constant name
}

// NewDirectory returns the directory of a path, whose fields are not bound yet.
func NewDirectory(at token.Position, path []tags.PathElement) Directory {
	d := Directory{At: at}
	for _, e := range path {
		d.Elements = append(d.Elements, DirectoryElement{PathElement: e})
	}
	return d
}

// String is the path as it is written in the marker.
func (d Directory) String() string {
	parts := make([]string, len(d.Elements))
	for i, e := range d.Elements {
		parts[i] = e.Name
		if e.Field != "" {
			parts[i] = "{" + e.Field + "}"
		}
	}
	return strings.Join(parts, "/")
}

// StoredPath is the path as persist.lock and the headers of stores keep it: fields by
// their key-stable names, so that a renamed Go field changes nothing, and two
// fields that change places do.
func (d Directory) StoredPath() string {
	parts := make([]string, len(d.Elements))
	for i, e := range d.Elements {
		parts[i] = e.Name
		if e.Field != "" {
			parts[i] = "{" + e.Bound.Name + "}"
		}
		if e.Layer != "" {
			parts[i] += "(" + e.Layer + ")"
		}
	}
	return strings.Join(parts, "/")
}

// Fields returns the distinct fields of the path, in its order.
func (d Directory) Fields() []*Field {
	var list []*Field
	seen := map[string]bool{}
	for _, e := range d.Elements {
		if e.Bound != nil && !seen[e.Field] {
			seen[e.Field] = true
			list = append(list, e.Bound)
		}
	}
	return list
}
