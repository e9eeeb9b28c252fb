// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// markers are the parsed marker fields of a record, before fields are known.
type markers struct {
	indexes    []markerIndex
	searches   []markerIndex
	aggregates []markerAggregate
	typed      bool
	placed     bool
	site       fieldSite // of the Directory marker
}

// markerIndex is an Index or Unique marker.
type markerIndex struct {
	site    fieldSite
	unique  bool
	options tags.IndexOptions
}

// markerAggregate is the marker of an aggregate, such as Count.
type markerAggregate struct {
	site    fieldSite
	at      token.Position // of the tag
	marker  string
	options tags.AggregateOptions
}

// markerOf returns the marker type's name of a field's type, or "".
func markerOf(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != model.PersistablePath {
		return ""
	}
	name := named.Obj().Name()
	if slices.Contains([]string{"Type", "Directory", "Index", "Unique", searchMarker, versionMarker}, name) || slices.Contains(tags.Aggregates, name) {
		return name
	}
	return ""
}

// names reports whether a marker of an index names a field. The index may have a fault.
func (m *markers) names(one *model.Component) bool {
	path := make([]string, len(one.Steps))
	for i, s := range one.Steps {
		path[i] = s.GoName
	}
	is := func(f tags.FieldName) bool { return f.Text == strings.Join(path, ".") }
	return slices.ContainsFunc(m.indexes, func(x markerIndex) bool { return slices.ContainsFunc(x.options.Fields, is) }) ||
		slices.ContainsFunc(m.aggregates, func(x markerAggregate) bool { return is(x.options.Of) || slices.ContainsFunc(x.options.By, is) })
}

// searchMarker is the marker of an index of words.
const searchMarker = "Search"

// versionMarker is the marker that may be a field with a name.
const versionMarker = "Version"

// hasMarker reports whether a named type's own declaration has marker fields. A field of
// type Version that has a name does not make a struct persistable.
func hasMarker(named *types.Named) bool {
	s, ok := named.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		if marker := markerOf(f.Type()); marker != "" && (marker != versionMarker || f.Name() == "_") {
			return true
		}
	}
	return false
}

// fieldSite is a field's place in the source: where faults are reported.
type fieldSite struct {
	at      token.Position
	pos     token.Pos
	subject string
	literal string // the tag as written; "" if there is none
	tagAt   token.Position
}

// inTag is the position at an offset of the tag's literal.
func (s fieldSite) inTag(offset int) token.Position {
	at := s.tagAt
	if at.Line == 0 {
		return s.at
	}
	for _, ch := range []byte(s.literal[:min(offset, len(s.literal))]) {
		at.Column++
		if ch == '\n' {
			at.Line, at.Column = at.Line+1, 1
		}
	}
	return at
}

// positions turns the offsets of options into positions of the source.
func positions(offsets map[string]int, s fieldSite) map[string]token.Position {
	m := map[string]token.Position{}
	for option, offset := range offsets {
		m[option] = s.inTag(offset)
	}
	return m
}

// findSteps resolves a field name, or a path through nested structs, to fields,
// or returns why it cannot. options are words that could have been meant instead.
func findSteps(m *model.Message, path string, options ...string) (steps []*model.Field, reason string) {
	for i, name := range strings.Split(path, ".") {
		if m == nil {
			return nil, fmt.Sprintf("%s is not a struct, so it has no field %s", steps[i-1].GoName, name)
		}
		f := m.FindField(name)
		if f == nil {
			return nil, fmt.Sprintf("%s has no field %s", m.GoName, name) + suggestField(m, name, options)
		}
		options = nil
		steps = append(steps, f)
		m = f.Nested()
	}
	return steps, ""
}

// suggestField suggests the field nearest to a misspelt one or, if it is as near, the
// option. What fields have as an option, indexes have as a type.
func suggestField(m *model.Message, name string, options []string) string {
	if name == "unique" {
		return "; for a unique index write persistable.Unique in place of persistable.Index"
	}
	text := tags.Suggest(name, append(slices.Clone(options), m.FieldNames()...))
	for _, option := range options {
		if text == "; did you mean "+option+"?" {
			return "; did you mean the option " + option + "?"
		}
	}
	return text
}
