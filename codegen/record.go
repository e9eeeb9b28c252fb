// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"go/types"
	"slices"
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
	options indexOptions
}

// record reads the markers and fields of a persistable struct.
func (c *collector) record(named *types.Named) {
	goName := named.Obj().Name()
	r := &record{goName: goName, name: goName, at: c.loaded.position(named.Obj().Pos())}
	r.message = c.message(named)
	r.message.record = r
	m := c.markers(r, named.Underlying().(*types.Struct))
	r.message.name = r.name
	if !m.placed {
		r.directory = newDirectory(r.at, []pathElement{{name: r.name}})
	}
	c.findID(r)
	for _, marker := range m.indexes {
		if d := c.markedIndex(r, marker); d != nil {
			r.indexes = append(r.indexes, d)
		}
	}
	c.fieldIndexes(r)
	c.bindDirectory(r, m.site)
	c.pkg.records = append(c.pkg.records, r)
}

// markers reads the marker fields of a struct.
func (c *collector) markers(r *record, s *types.Struct) markers {
	var m markers
	for i := range s.NumFields() {
		v := s.Field(i)
		marker := markerOf(v.Type())
		if marker == "" {
			continue
		}
		site := c.site(r.goName, s, i)
		if v.Name() != "_" {
			c.add(site.at, r.goName, "a persistable.%s marker must be a blank field: _ persistable.%s `persist:\"…\"`", marker, marker)
			continue
		}
		t, found := c.tag(site)
		if !found {
			if site.literal == "" {
				c.add(site.at, r.goName, "the persistable.%s marker has no persist tag: write _ persistable.%s `persist:\"…\"`", marker, marker)
			}
			continue
		}
		c.marker(r, &m, marker, site, t)
	}
	return m
}

// marker applies one marker field.
func (c *collector) marker(r *record, m *markers, marker string, site fieldSite, t tag) {
	site.subject = r.goName
	switch marker {
	case "Type":
		if m.typed {
			c.add(site.at, r.goName, "a second persistable.Type marker; a type has one name")
			return
		}
		m.typed = true
		options, found := parseTypeOptions(t)
		c.reportTag(site, found)
		r.name, r.scatter = cmp.Or(options.name, r.name), options.scatter
		if r.scatter.shards != 0 {
			r.scatter.at = site.inTag(r.scatter.offset)
		}
	case "Directory":
		if m.placed {
			c.add(site.at, r.goName, "a second persistable.Directory marker; a type has one directory")
			return
		}
		path, found := parsePath(t)
		r.directory, m.placed, m.site = newDirectory(site.inTag(t.offset(0)), path), true, site
		c.reportTag(site, found)
	default:
		options, found := parseIndexOptions(t)
		c.reportTag(site, found)
		if len(found) == 0 {
			m.indexes = append(m.indexes, markerIndex{site, marker == "Unique", options})
		}
	}
}

// findID finds the ID field: the one tagged id, or the one named ID.
func (c *collector) findID(r *record) {
	var tagged, named []*field
	for _, f := range r.message.fields {
		if f.options.id {
			tagged = append(tagged, f)
		}
		if f.goName == "ID" {
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
		c.add(found[1].at, found[1].subject, "a second ID field; %s is the first", found[0].goName)
	}
	r.idField = found[0]
	r.message.fields = slices.Insert(slices.DeleteFunc(r.message.fields, func(f *field) bool { return f == found[0] }), 0, found[0])
	r.idField.number = idNumber
	c.classifyID(r)
}

// missingID reports a struct without an ID field, unless its ID field was
// refused already.
func (c *collector) missingID(r *record) {
	s := r.message.named.Underlying().(*types.Struct)
	for f := range s.Fields() {
		if f.Name() == "ID" {
			return
		}
	}
	c.missing = append(c.missing, missingID{r.at, r.goName, c.loaded.structs[r.message.named.Obj().Pos()]})
	c.add(r.at, r.goName, "the struct has no ID field; add the line \"ID idgen.ID\", or run persistgen -fix")
}
