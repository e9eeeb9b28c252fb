// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/token"
	"go/types"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// markers are the parsed marker fields of a record, before fields are known.
type markers struct {
	indexes    []markerIndex
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

// markerAggregate is a Count, Sum, Min, Max or Rank marker.
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
	switch name := named.Obj().Name(); name {
	case "Type", "Directory", "Index", "Unique", "Count", "Sum", "Min", "Max", "Rank", versionMarker:
		return name
	}
	return ""
}

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
