// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/source"
)

// typeText is a type as the package's own source would write it.
func (c *collector) typeText(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(c.pkg.Types))
}

// checkIndexes checks a record's indexes against each other.
func (c *collector) checkIndexes(r *model.Record) {
	byName, byFields := map[string]*model.Index{}, map[string]*model.Index{}
	var sound []*model.Index
	for _, d := range r.Indexes {
		fields := d.Subject()
		switch first := byFields[d.Identity()]; {
		case first != nil && d.Kind != model.Value:
			c.Add(d.At, r.GoName, "duplicate %s; the first is at %s", fields, c.describePosition(first.At))
			continue
		case first != nil && first.Unique != d.Unique:
			c.Add(d.At, r.GoName, "an index and a unique index on %s (the first is at %s); remove the one that is not unique, because a unique index serves queries too", fields, c.describePosition(first.At))
			continue
		case first != nil:
			c.Add(d.At, r.GoName, "duplicate index on %s; the first is at %s", fields, c.describePosition(first.At))
			continue
		}
		byFields[d.Identity()] = d
		if first := byName[d.Name]; first != nil {
			c.Add(d.At, r.GoName, "duplicate index name %s; the first is at %s; choose another with name=", d.Name, c.describePosition(first.At))
			continue
		}
		byName[d.Name] = d
		sound = append(sound, d)
	}
	c.checkMethods(r, sound)
}

// describePosition is a position for use inside a message.
func (c *collector) describePosition(at token.Position) string {
	at.Filename = c.Relative(at.Filename)
	return at.String()
}

// checkPackage checks what concerns several types.
func (c *collector) checkPackage() {
	c.checkTypeNames()
	c.checkPartitions()
	c.checkNested()
	c.checkConstraints()
	c.checkScope()
}

// checkTypeNames reports two types with one name in keys.
func (c *collector) checkTypeNames() {
	byName := map[string]*model.Message{}
	for _, m := range c.pkg.Messages {
		if first := byName[m.Name]; first != nil {
			c.Add(m.At, m.GoName, "the name %s is that of the type %s already; choose another in a persistable.Type marker", m.Name, first.GoName)
			continue
		}
		byName[m.Name] = m
	}
}

// checkPartitions reports types that share a path but disagree on where in it
// a partition is.
func (c *collector) checkPartitions() {
	type use struct {
		layer string
		r     *model.Record
	}
	seen := map[string]use{}
	for _, r := range c.pkg.Records {
		path := ""
		for _, e := range r.Directory.Elements {
			if e.Field != "" {
				path += "/{}"
			} else {
				path += "/" + e.Name
			}
			first, again := seen[path]
			if !again {
				seen[path] = use{e.Layer, r}
			} else if first.layer != e.Layer {
				c.Add(r.Directory.At, r.GoName, "the directory %s must agree with that of %s (%s): one makes %s a partition, the other does not; "+
					"write layer=partition on both or on none", r.Directory, first.r.GoName, c.describePosition(first.r.Directory.At), strings.TrimPrefix(path, "/"))
				break
			}
		}
		if last := r.Directory.Elements; len(last) > 0 && last[len(last)-1].Layer != "" {
			c.Add(r.Directory.At, r.GoName, "a partition holds directories, not records; add an element behind {%s}", last[len(last)-1].Field)
		}
	}
}

// checkScope reports names that are to be generated but are taken, by
// declarations of the package, also in tests and in files of other builds, or by each
// other.
func (c *collector) checkScope() {
	owners, elsewhere := map[string]*model.Message{}, map[string]token.Position{}
	for _, one := range c.loaded.LeftOut {
		if one.Package == c.pkg.Name && source.MayMeet(one.Constraint, c.pkg.Constraint) {
			elsewhere[one.Name] = one.At
		}
	}
	c.pkg.Elsewhere = slices.Sorted(maps.Keys(elsewhere))
	for _, m := range c.pkg.Messages {
		for _, name := range m.Declarations() {
			if o := c.pkg.Types.Scope().Lookup(name); o != nil {
				c.Add(c.loaded.Position(o.Pos()), name, "persistgen generates the name %s for the type %s; rename this declaration", name, m.GoName)
			} else if at, found := elsewhere[name]; found {
				c.Add(at, name, "persistgen generates the name %s for the type %s; rename this declaration, with which the package would not compile", name, m.GoName)
			}
			if first := owners[name]; first != nil {
				c.Add(m.At, m.GoName, "persistgen would generate %s for this type and for %s; rename one of them", name, first.GoName)
			}
			owners[name] = m
		}
	}
}

// checkNested reports index options where there is no store to keep an index.
func (c *collector) checkNested() {
	for _, m := range c.pkg.Messages {
		if m.Record != nil || c.isOutside(m.Named.Obj().Pkg()) {
			continue
		}
		for _, f := range m.Fields {
			if at, ok := f.Options.Positions["default"]; ok {
				c.Add(at, f.Subject, "the option default is for fields of a persistable type; a nested struct that is absent is zero")
			}
			for _, option := range []string{"index", "unique", "cover", "scatter", "id"} {
				if at, ok := f.Options.Positions[option]; ok {
					c.Add(at, f.Subject, "the option %s is for fields of a persistable type; for one of a nested struct write an Index marker with its path into the outer type", option)
				}
			}
		}
	}
}

// checkConstraints takes over the build constraint of the records' files, on
// which they must agree because their generated code is one file.
func (c *collector) checkConstraints() {
	for i, r := range c.pkg.Records {
		constraint := c.loaded.Constraints[r.At.Filename]
		if i == 0 {
			c.pkg.Constraint = constraint
		} else if constraint != c.pkg.Constraint {
			first := c.pkg.Records[0]
			c.Add(r.At, r.GoName, "build constraint %s differs from that of %s (%s): %s; persistable types of one package need the same, because they share a generated file",
				quoteConstraint(constraint), first.GoName, c.describePosition(first.At), quoteConstraint(c.pkg.Constraint))
		}
	}
}

func quoteConstraint(expression string) string {
	if expression == "" {
		return "(none)"
	}
	return "(" + expression + ")"
}
