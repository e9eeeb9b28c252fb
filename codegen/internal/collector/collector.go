// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
)

// collector turns the type-checked source of one package into a model.
type collector struct {
	*diagnostic.List
	loaded  *source.Package
	pkg     *model.Package
	byType  map[string]*model.Message // by types.TypeString
	enums   map[*types.TypeName]*model.Enum
	missing []MissingID // records without an ID field, for -fix
	foreign int         // depth of structs of other packages being walked
	reason  string      // the first fault of a struct of another package
}

// MissingID is a record without an ID field.
type MissingID struct {
	At     token.Position
	GoName string
	spec   *ast.TypeSpec
}

// Collect builds the model of a package. Its records are complete but for
// field numbers, which persist.lock assigns.
func Collect(loaded *source.Package, f *diagnostic.List) (*model.Package, []MissingID) {
	c := &collector{
		List:   f,
		loaded: loaded,
		byType: map[string]*model.Message{},
		enums:  map[*types.TypeName]*model.Enum{},
		pkg: &model.Package{
			Name: loaded.Name, Path: loaded.Path, Dir: loaded.Dir,
			Types: loaded.Types,
		},
	}
	for _, named := range c.findRecordTypes() {
		c.addRecord(named)
	}
	slices.SortFunc(c.pkg.Records, func(a, b *model.Record) int { return cmp.Compare(a.GoName, b.GoName) })
	for _, r := range c.pkg.Records {
		c.checkIndexes(r)
	}
	c.nameMessages()
	c.checkPackage()
	return c.pkg, c.missing
}

// findRecordTypes returns the package's structs with marker fields, by position, and
// refuses those that cannot be records.
func (c *collector) findRecordTypes() []*types.Named {
	var list []*types.Named
	for ident, object := range c.loaded.Info.Defs {
		name, ok := object.(*types.TypeName)
		if !ok || name.IsAlias() {
			continue
		}
		named, ok := name.Type().(*types.Named)
		if !ok || !hasMarker(named) || !c.loaded.Declares(ident) {
			continue
		}
		at := c.loaded.Position(ident.Pos())
		switch {
		case name.Parent() != c.pkg.Types.Scope():
			c.Add(at, name.Name(), "a persistable type must be declared at package level")
		case named.TypeParams().Len() > 0:
			c.Add(at, name.Name(), "a generic type cannot be persistable, because its instances would share keys; "+
				"embed the generic struct in a type of its own")
		default:
			list = append(list, named)
		}
	}
	slices.SortFunc(list, func(a, b *types.Named) int { return cmp.Compare(a.Obj().Name(), b.Obj().Name()) })
	return list
}
