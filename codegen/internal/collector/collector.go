// SPDX-License-Identifier: Apache-2.0

// Package collector makes the model of a loaded package: it reads the markers,
// walks the fields of structs, decides how each Go type is stored, resolves the
// fields of indexes and directories, and checks that they agree.
//
// It reports every fault that it finds in the source. The model that it returns is
// complete except for the field numbers.
package collector

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// collector turns the type-checked source of one package into a model.
type collector struct {
	subject
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
		subject: subject{List: f, loaded: loaded, pkg: &model.Package{
			Name: loaded.Name, Path: loaded.Path, Dir: loaded.Dir,
			Types: loaded.Types,
		}},
		byType: map[string]*model.Message{},
		enums:  map[*types.TypeName]*model.Enum{},
	}
	for _, named := range c.findRecordTypes() {
		c.addRecord(named)
	}
	slices.SortFunc(c.pkg.Records, func(a, b *model.Record) int { return cmp.Compare(a.GoName, b.GoName) })
	for _, r := range c.pkg.Records {
		referenceResolver{c}.addReferences(r)
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

// addRecord reads the markers and fields of a persistable struct.
func (c *collector) addRecord(named *types.Named) {
	goName := named.Obj().Name()
	r := &model.Record{GoName: goName, Name: goName, At: c.loaded.Position(named.Obj().Pos())}
	r.Message = c.messageOf(named)
	r.Message.Record = r
	m := c.readMarkers(r, named.Underlying().(*types.Struct))
	r.Message.Name = r.Name
	if !m.placed {
		r.Directory = model.NewDirectory(r.At, []tags.PathElement{{Name: r.Name}})
	}
	if r.Directory.Elements != nil && r.Directory.Elements[0].Name == systemDirectory {
		c.Add(r.Directory.At, r.GoName, "the directory %s holds the leases, elections and other data of the library itself; begin the path with another name", systemDirectory)
	}
	c.findID(r)
	for _, marker := range m.indexes {
		if d := c.resolveIndex(r, marker); d != nil {
			r.Indexes = append(r.Indexes, d)
		}
	}
	c.addFieldIndexes(r)
	for _, marker := range m.aggregates {
		c.addAggregate(r, marker)
	}
	for _, marker := range m.searches {
		c.addSearch(r, marker)
	}
	if r.Versioned {
		c.addVersionIndex(r)
	}
	c.findHooks(r)
	c.bindDirectory(r, m.site)
	r.Values = c.valuesOf(r.Message, nil, nil)
	optionChecker{c}.checkFolded(r, &m)
	checkBlobs(c, r)
	c.pkg.Records = append(c.pkg.Records, r)
}

// systemDirectory is the directory that persistable.DB.HoldsSystem knows.
const systemDirectory = "kazahana"

// readMarkers reads the marker fields of a struct.
func (c *collector) readMarkers(r *model.Record, s *types.Struct) markers {
	var m markers
	for i := range s.NumFields() {
		v := s.Field(i)
		marker := markerOf(v.Type())
		if marker == "" {
			continue
		}
		site := c.siteOf(r.GoName, s, i)
		if marker == versionMarker {
			c.readVersion(r, site, v)
			continue
		}
		if v.Name() != "_" {
			c.Add(site.at, r.GoName, "a persistable.%s marker must be a blank field: _ persistable.%s `persist:\"…\"`", marker, marker)
			continue
		}
		t, found := c.parseTag(site)
		if !found && marker != "Count" {
			if site.literal == "" {
				c.Add(site.at, r.GoName, "the persistable.%s marker has no persist tag: write _ persistable.%s `persist:\"…\"`", marker, marker)
			}
			continue
		}
		c.applyMarker(r, &m, marker, site, t)
	}
	return m
}

// applyMarker applies one marker field.
func (c *collector) applyMarker(r *model.Record, m *markers, marker string, site fieldSite, t tags.Tag) {
	site.subject = r.GoName
	switch marker {
	case "Type":
		if m.typed {
			c.Add(site.at, r.GoName, "a second persistable.Type marker; a type has one name")
			return
		}
		m.typed = true
		options, found := tags.ParseTypeOptions(t)
		c.reportTag(site, found)
		r.Name, r.Scatter = cmp.Or(options.Name, r.Name), options.Scatter
		if r.Scatter.Shards != 0 {
			r.Scatter.At = site.inTag(r.Scatter.Offset)
		}
	case "Directory":
		if m.placed {
			c.Add(site.at, r.GoName, "a second persistable.Directory marker; a type has one directory")
			return
		}
		path, found := tags.ParsePath(t)
		r.Directory, m.placed, m.site = model.NewDirectory(site.inTag(t.Offset(0)), path), true, site
		c.reportTag(site, found)
	case "Index", "Unique":
		options, found := tags.ParseIndexOptions(t)
		c.reportTag(site, found)
		if len(found) == 0 {
			m.indexes = append(m.indexes, markerIndex{site, marker == "Unique", options})
		}
	case searchMarker:
		c.readSearch(m, site, t)
	default:
		options, found := tags.ParseAggregateOptions(t, marker)
		c.reportTag(site, found)
		if len(found) == 0 {
			m.aggregates = append(m.aggregates, markerAggregate{site, site.inTag(t.Offset(0)), marker, options})
		}
	}
}

// readVersion reads a field of type Version: blank for the change feed alone, or the field
// that is filled when a record is read.
func (c *collector) readVersion(r *model.Record, site fieldSite, v *types.Var) {
	if t, found := c.parseTag(site); found {
		c.Add(site.inTag(t.Offset(0)), r.GoName, "a field of type persistable.Version has no options; remove the persist tag")
	}
	if r.Versioned {
		c.Add(site.at, r.GoName, "a second field of type persistable.Version; a record has one version")
		return
	}
	r.Versioned, r.VersionAt = true, site.at
	if v.Name() != "_" {
		r.VersionField = v.Name()
	}
}

// findID finds the ID field: the one tagged id, or the one named ID.
func (c *collector) findID(r *model.Record) {
	var tagged, named []*model.Field
	for _, f := range r.Message.Fields {
		if f.Options.ID {
			tagged = append(tagged, f)
		}
		if f.GoName == "ID" {
			named = append(named, f)
		}
	}
	found := tagged
	if len(found) == 0 {
		found = named
	}
	switch {
	case len(found) == 0:
		c.missingID(r)
		return
	case len(found) > 1:
		c.Add(found[1].At, found[1].Subject, "a second ID field; %s is the first", found[0].GoName)
	}
	r.IDField = found[0]
	r.Message.Fields = slices.Insert(slices.DeleteFunc(r.Message.Fields, func(f *model.Field) bool { return f == found[0] }), 0, found[0])
	r.IDField.Number = tags.IDNumber
	c.classifyID(r)
}

// missingID reports a struct without an ID field, unless its ID field was
// refused already.
func (c *collector) missingID(r *model.Record) {
	s := r.Message.Named.Underlying().(*types.Struct)
	for f := range s.Fields() {
		switch {
		case f.Name() == "ID":
			return
		case strings.EqualFold(f.Name(), "ID") && f.Exported():
			c.Add(c.loaded.Position(f.Pos()), r.GoName+"."+f.Name(), "the ID field is named ID; rename it to ID, or tag it `persist:\"id\"`")
			return
		}
	}
	c.missing = append(c.missing, MissingID{r.At, r.GoName, c.loaded.Structs[r.Message.Named.Obj().Pos()]})
	c.Add(r.At, r.GoName, "the struct has no ID field; add the line \"ID idgen.ID\", or run persistgen -fix")
}

// classifyID decides how IDs are made, or refuses the ID field's type.
func (c *collector) classifyID(r *model.Record) {
	f := r.IDField
	bad := func(message string, args ...any) { c.Add(f.At, f.Subject, message, args...) }
	if !f.Options.ID && (f.Options.Index || f.Options.Unique) {
		bad("records are found by their ID without an index; remove index and unique")
	}
	if f.Options.Number > tags.IDNumber {
		bad("the ID is field 1; remove number=%d", f.Options.Number)
	}
	if f.Kind == nil {
		return
	}
	switch f.Kind.Form {
	case model.FormID:
		r.IDKind = model.IDKazahana
	case model.FormULID:
		r.IDKind = model.IDULID
	case model.FormUUID:
		r.IDKind = model.IDUUID
	case model.FormString:
		r.IDKind = model.IDULIDString
	case model.FormBool, model.FormInt, model.FormUint, model.FormFloat32, model.FormFloat64, model.FormBytes, model.FormArray:
	case model.FormPointer:
		bad("an ID cannot be null, so its type cannot be a pointer; use %s", c.typeText(f.Kind.Elem.GoType))
	default:
		bad("%s cannot be an ID; use idgen.ID, a string, ulid.ULID, a UUID, an integer, a float, bool, []byte or [N]byte",
			c.typeText(f.Kind.GoType))
	}
}

// findHooks finds the methods of a record that the run-time calls, those of embedded
// structs included, and refuses those that it could not call.
func (c *collector) findHooks(r *model.Record) {
	set := types.NewMethodSet(types.NewPointer(r.Message.Named))
	for _, hook := range model.Hooks() {
		selection := set.Lookup(r.Message.Named.Obj().Pkg(), string(hook))
		if selection == nil || selection.Kind() != types.MethodVal {
			continue
		}
		method := selection.Obj().(*types.Func)
		form, ok := formOf(set, hook)
		if !ok {
			c.Add(c.hookPosition(r, method), r.GoName, "%s%s has the name of a method that is called %s: "+
				"write %s, or rename the method", hook, c.signatureOf(method), hook.When(), hookSource(r, hook))
			continue
		}
		if _, byPointer := method.Signature().Recv().Type().(*types.Pointer); hook.Sets() && !byPointer && !types.IsInterface(method.Signature().Recv().Type()) {
			c.Add(c.hookPosition(r, method), r.GoName, "%s has a value as its receiver, so the fields that it sets are those of a copy: "+
				"write func (v *%s) %s%s", hook, r.GoName, hook, form.Source())
			continue
		}
		r.Hooks = append(r.Hooks, model.HookMethod{Hook: hook, Form: form})
	}
}

// formOf returns the form of the method of a set that is a hook.
func formOf(set *types.MethodSet, hook model.Hook) (form model.HookForm, ok bool) {
	for _, form := range hook.Forms() {
		if hasMethod(set, string(hook), form.Signature()) {
			return form, true
		}
	}
	return 0, false
}

// hookSource says how to write a hook.
func hookSource(r *model.Record, hook model.Hook) string {
	var all []string
	for _, form := range hook.Forms() {
		all = append(all, "func (v *"+r.GoName+") "+string(hook)+form.Source())
	}
	return strings.Join(all, " or ")
}

// hookPosition is where a method is declared, or the record if that is in another package.
func (c *collector) hookPosition(r *model.Record, method *types.Func) token.Position {
	if c.isOutside(method.Pkg()) {
		return r.At
	}
	return c.loaded.Position(method.Pos())
}

// signatureOf writes the parameters and results of a method.
func (c *collector) signatureOf(method *types.Func) string {
	return c.typeText(method.Signature())[len("func"):]
}

// siteOf finds the source of the i-th field of a struct.
func (c *collector) siteOf(owner string, s *types.Struct, i int) fieldSite {
	v := s.Field(i)
	c.loaded.Read[v.Pos()] = true
	site := fieldSite{pos: v.Pos(), at: c.loaded.Position(v.Pos()), subject: owner + "." + v.Name()}
	if v.Name() == "_" {
		site.subject = owner
	}
	if f := c.loaded.Fields[v.Pos()]; f != nil && f.Tag != nil {
		site.literal, site.tagAt = f.Tag.Value, c.loaded.Position(f.Tag.Pos())
	} else if s.Tag(i) != "" {
		site.literal = strconv.Quote(s.Tag(i))
	}
	return site
}

// parseTag parses the field's persist tag and reports its faults.
func (c *collector) parseTag(s fieldSite) (tags.Tag, bool) {
	if s.literal == "" {
		return tags.Tag{}, false
	}
	t, found, at, err := tags.Parse(s.literal)
	if err != nil {
		c.report(s.inTag(at), s.subject, err.Error())
	}
	return t, found
}

// report records a fault of the package's own source, or, within a struct of
// another package, keeps it for the field that led there.
func (c *collector) report(at token.Position, subject, message string) {
	if c.foreign == 0 {
		c.Add(at, subject, "%s", message)
		return
	}
	if c.reason == "" {
		c.reason = subject + ": " + message
	}
}

// reportTag records the faults of a tag.
func (c *collector) reportTag(s fieldSite, found []tags.Fault) {
	for _, one := range found {
		c.report(s.inTag(one.Offset), s.subject, one.Message)
	}
}

// readSearch reads a Search marker.
func (c *collector) readSearch(m *markers, site fieldSite, t tags.Tag) {
	options, found := tags.ParseSearchOptions(t)
	c.reportTag(site, found)
	if len(found) == 0 {
		m.searches = append(m.searches, markerIndex{site: site, options: options})
	}
}

// addSearch resolves a Search marker.
func (c *collector) addSearch(r *model.Record, m markerIndex) {
	c.checkShared(r, m.site, m.options.MarkerOptions)
	var components []*model.Component
	where, sound := c.resolveWhere(r, m.site, m.options.Where)
	for _, f := range m.options.Fields {
		one := c.resolveComponent(r, m.site, f)
		if one != nil && one.Element.Form != model.FormString {
			c.Add(m.site.inTag(f.Offset), r.GoName, "%s has no words; a Search is of strings", f.Text)
			one = nil
		}
		if one == nil {
			sound = false
			continue
		}
		plain := *one.Element // words are folded anyway
		plain.Folded = false
		one.Element = &plain
		components = append(components, one)
	}
	if sound {
		r.Indexes = append(r.Indexes, nameIndex(r, &model.Index{
			Kind: model.Search, Where: where, Title: m.options.Name, At: m.site.inTag(m.options.Fields[0].Offset), Components: components,
		}, m.options.WithDeleted))
	}
}
