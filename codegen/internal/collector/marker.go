// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/types"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// markers are the parsed marker fields of a record, before fields are known.
type markers struct {
	indexes []markerIndex
	typed   bool
	placed  bool
	site    fieldSite // of the Directory marker
}

// markerIndex is an Index or Unique marker.
type markerIndex struct {
	site    fieldSite
	unique  bool
	options tags.IndexOptions
}

// markerOf returns the marker type's name of a field's type, or "".
func markerOf(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != model.PersistablePath {
		return ""
	}
	switch name := named.Obj().Name(); name {
	case "Type", "Directory", "Index", "Unique":
		return name
	}
	return ""
}

// hasMarker reports whether a named type's own declaration has marker fields.
func hasMarker(named *types.Named) bool {
	s, ok := named.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		if markerOf(f.Type()) != "" {
			return true
		}
	}
	return false
}
