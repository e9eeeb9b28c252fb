// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

// Import paths of the run-time.
const (
	modulePath      = "github.com/kazahana-db/kazahana"
	persistablePath = modulePath + "/persistable"
	persistimplPath = modulePath + "/persistable/persistimpl"
	wirePath        = modulePath + "/persistable/wire"
	indexPath       = modulePath + "/index"
	idgenPath       = modulePath + "/idgen"
	tuplePath       = modulePath + "/tuple"
	ulidPath        = "github.com/oklog/ulid/v2"
)

// collector turns the type-checked source of one package into a model.
type collector struct {
	*faults
	loaded  *loadedPackage
	pkg     *pkg
	byType  map[string]*message // by types.TypeString
	missing []missingID         // records without an ID field, for -fix
	foreign int                 // depth of structs of other packages being walked
	reason  string              // the first fault of a struct of another package
}

// collect builds the model of a package. Its records are complete but for
// field numbers, which persist.lock assigns.
func collect(loaded *loadedPackage, f *faults) (*pkg, []missingID) {
	c := &collector{
		faults: f,
		loaded: loaded,
		byType: map[string]*message{},
		pkg: &pkg{
			name: loaded.name, path: loaded.path, dir: loaded.dir,
			types: loaded.types,
		},
	}
	for _, named := range c.declared() {
		c.record(named)
	}
	slices.SortFunc(c.pkg.records, func(a, b *record) int { return cmp.Compare(a.goName, b.goName) })
	for _, r := range c.pkg.records {
		c.resolve(r)
	}
	c.nameMessages()
	c.checkPackage()
	return c.pkg, c.missing
}

// declared returns the package's structs with marker fields, by position, and
// refuses those that cannot be records.
func (c *collector) declared() []*types.Named {
	var list []*types.Named
	for ident, object := range c.loaded.info.Defs {
		name, ok := object.(*types.TypeName)
		if !ok || name.IsAlias() {
			continue
		}
		named, ok := name.Type().(*types.Named)
		if !ok || !hasMarker(named) || !c.loaded.declares(ident) {
			continue
		}
		at := c.loaded.position(ident.Pos())
		switch {
		case name.Parent() != c.pkg.types.Scope():
			c.add(at, name.Name(), "a persistable type must be declared at package level")
		case named.TypeParams().Len() > 0:
			c.add(at, name.Name(), "a generic type cannot be persistable, because its instances would share keys; "+
				"embed the generic struct in a type of its own")
		default:
			list = append(list, named)
		}
	}
	slices.SortFunc(list, func(a, b *types.Named) int { return cmp.Compare(a.Obj().Name(), b.Obj().Name()) })
	return list
}

// markerOf returns the marker type's name of a field's type, or "".
func markerOf(t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != persistablePath {
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

// fieldSite is a field's place in the source: where faults are reported.
type fieldSite struct {
	at      token.Position
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

// site finds the source of the i-th field of a struct.
func (c *collector) site(owner string, s *types.Struct, i int) fieldSite {
	v := s.Field(i)
	site := fieldSite{at: c.loaded.position(v.Pos()), subject: owner + "." + v.Name()}
	if v.Name() == "_" {
		site.subject = owner
	}
	if f := c.loaded.fields[v.Pos()]; f != nil && f.Tag != nil {
		site.literal, site.tagAt = f.Tag.Value, c.loaded.position(f.Tag.Pos())
	} else if s.Tag(i) != "" {
		site.literal = strconv.Quote(s.Tag(i))
	}
	return site
}

// tag parses the field's persist tag and reports its faults.
func (c *collector) tag(s fieldSite) (tag, bool) {
	if s.literal == "" {
		return tag{}, false
	}
	t, found, at, err := parseTag(s.literal)
	if err != nil {
		c.report(s.inTag(at), s.subject, err.Error())
	}
	return t, found
}

// report records a fault of the package's own source, or, within a struct of
// another package, keeps it for the field that led there.
func (c *collector) report(at token.Position, subject, message string) {
	if c.foreign == 0 {
		c.add(at, subject, "%s", message)
		return
	}
	if c.reason == "" {
		c.reason = subject + ": " + message
	}
}

// reportTag records the faults of a tag.
func (c *collector) reportTag(s fieldSite, found []fault) {
	for _, one := range found {
		c.report(s.inTag(one.at), s.subject, one.message)
	}
}

// fieldsByPosition maps the position of each struct field's name, or of an
// embedded field's type name, to its syntax.
func fieldsByPosition(files []*ast.File) map[token.Pos]*ast.Field {
	m := map[token.Pos]*ast.Field{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					m[name.Pos()] = f
				}
				if len(f.Names) == 0 {
					m[embeddedName(f.Type).Pos()] = f
				}
			}
			return true
		})
	}
	return m
}

// embeddedName is the identifier that names an embedded field.
func embeddedName(e ast.Expr) ast.Node {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.ParenExpr:
		return embeddedName(e.X)
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	}
	return e
}
