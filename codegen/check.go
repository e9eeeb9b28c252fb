// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"go/token"
	"go/types"
	"strings"
)

// typeText is a type as the package's own source would write it.
func (c *collector) typeText(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(c.pkg.types))
}

// resolve checks a record's indexes against each other.
func (c *collector) resolve(r *record) {
	byName, byFields := map[string]*indexDef{}, map[string]*indexDef{}
	var sound []*indexDef
	for _, d := range r.indexes {
		fields := d.fieldNames()
		switch first := byFields[fields]; {
		case first != nil && first.unique != d.unique:
			c.add(d.at, r.goName, "the unique index on %s serves queries too; remove the other one (%s)", fields, c.place(first.at))
			continue
		case first != nil:
			c.add(d.at, r.goName, "duplicate index on %s; the first is at %s", fields, c.place(first.at))
			continue
		}
		byFields[fields] = d
		if first := byName[d.name]; first != nil {
			c.add(d.at, r.goName, "duplicate index name %s; the first is at %s; choose another with name=", d.name, c.place(first.at))
			continue
		}
		byName[d.name] = d
		sound = append(sound, d)
	}
	c.checkMethods(r, sound)
}

// fieldNames joins the names of the components with commas.
func (d *indexDef) fieldNames() string {
	names := make([]string, len(d.components))
	for i, one := range d.components {
		names[i] = one.name()
	}
	return strings.Join(names, ",")
}

// place is a position for use inside a message.
func (c *collector) place(at token.Position) string {
	at.Filename = c.relative(at.Filename)
	return at.String()
}

// checkMethods reports generated methods of one store that share a name.
func (c *collector) checkMethods(r *record, indexes []*indexDef) {
	byName := map[string]*indexDef{}
	for _, d := range indexes {
		for _, m := range indexMethods(d) {
			if first := byName[m.name]; first != nil && first != d {
				c.add(d.at, r.goName, "the method %s would be generated for the indexes %s and %s; rename a field, keeping its name= for the stored data",
					m.name, first.name, d.name)
				break
			}
			byName[m.name] = d
		}
	}
}

// checkPackage checks what concerns several types.
func (c *collector) checkPackage() {
	c.checkTypeNames()
	c.checkPartitions()
	c.checkScope()
	c.checkNested()
	c.checkConstraints()
}

// checkTypeNames reports two types with one name in keys.
func (c *collector) checkTypeNames() {
	byName := map[string]*message{}
	for _, m := range c.pkg.messages {
		if first := byName[m.name]; first != nil {
			c.add(m.at, m.goName, "the name %s is that of the type %s already; choose another in a persistable.Type marker", m.name, first.goName)
			continue
		}
		byName[m.name] = m
	}
}

// checkPartitions reports types that share a path but disagree on where in it
// a partition is.
func (c *collector) checkPartitions() {
	type use struct {
		layer string
		r     *record
	}
	seen := map[string]use{}
	for _, r := range c.pkg.records {
		path := ""
		for _, e := range r.directory.elements {
			if e.field != "" {
				path += "/{}"
			} else {
				path += "/" + e.name
			}
			first, again := seen[path]
			if !again {
				seen[path] = use{e.layer, r}
			} else if first.layer != e.layer {
				c.add(r.directory.at, r.goName, "the directory %s must agree with that of %s (%s): one makes %s a partition, the other does not; "+
					"write layer=partition on both or on none", r.directory, first.r.goName, c.place(first.r.directory.at), strings.TrimPrefix(path, "/"))
				break
			}
		}
		if last := r.directory.elements; len(last) > 0 && last[len(last)-1].layer != "" {
			c.add(r.directory.at, r.goName, "a partition holds directories, not records; add an element behind {%s}", last[len(last)-1].field)
		}
	}
}

// checkScope reports names that are to be generated but are taken, by
// declarations of the package or by each other.
func (c *collector) checkScope() {
	owners := map[string]*message{}
	for _, m := range c.pkg.messages {
		for _, name := range m.declarations() {
			if o := c.pkg.types.Scope().Lookup(name); o != nil {
				c.add(c.loaded.position(o.Pos()), name, "persistgen generates %s for %s; rename this one", name, m.goName)
			}
			if first := owners[name]; first != nil {
				c.add(m.at, m.goName, "persistgen would generate %s for this type and for %s; rename one of them", name, first.goName)
			}
			owners[name] = m
		}
	}
}

// checkNested reports index options where there is no store to keep an index.
func (c *collector) checkNested() {
	for _, m := range c.pkg.messages {
		if m.record != nil || c.outside(m.named.Obj().Pkg()) {
			continue
		}
		for _, f := range m.fields {
			for _, option := range []string{"index", "unique", "cover", "scatter", "id"} {
				if at, ok := f.options.positions[option]; ok {
					c.add(at, f.subject, "%s belongs to a persistable type; for a nested struct put an Index marker with the path into the outer type", option)
				}
			}
		}
	}
}

// checkConstraints takes over the build constraint of the records' files, on
// which they must agree because their generated code is one file.
func (c *collector) checkConstraints() {
	for i, r := range c.pkg.records {
		constraint := c.loaded.constraints[r.at.Filename]
		if i == 0 {
			c.pkg.constraint = constraint
		} else if constraint != c.pkg.constraint {
			first := c.pkg.records[0]
			c.add(r.at, r.goName, "build constraint %s differs from that of %s (%s): %s; persistable types of one package need the same, because they share a generated file",
				quoteConstraint(constraint), first.goName, c.place(first.at), quoteConstraint(c.pkg.constraint))
		}
	}
}

func quoteConstraint(expression string) string {
	if expression == "" {
		return "(none)"
	}
	return "(" + expression + ")"
}
