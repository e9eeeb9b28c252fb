// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

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
	if r.Versioned {
		c.addVersionIndex(r)
	}
	c.findHooks(r)
	c.bindDirectory(r, m.site)
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
