// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// walkFields collects the stored fields of a struct into m, embedded structs
// flattened. within holds the structs being walked, against endless recursion.
func (c *collector) walkFields(m *model.Message, named *types.Named, path []string, within []*types.Named) []*model.Slot {
	s := named.Underlying().(*types.Struct)
	var slots []*model.Slot
	for i := range s.NumFields() {
		v := s.Field(i)
		if v.Name() == "_" {
			continue
		}
		site := c.siteOf(m.GoName, s, i)
		var options tags.FieldOptions
		if t, found := c.parseTag(site); found {
			var faults []tags.Fault
			options, faults = tags.ParseFieldOptions(t)
			c.reportTag(site, faults)
		}
		if options.Ignore {
			if v.Name() == "ID" && m.Named == named && hasMarker(named) && c.foreign == 0 {
				c.report(site.inTag(options.Offsets["-"]), site.subject, `the ID field cannot be left out; remove "-"`)
			}
			continue
		}
		if marker := markerOf(v.Type()); marker != "" {
			c.reportMarkerField(m, named, site, v, marker)
			continue
		}
		if one := c.newSlot(m, v, site, options, path, within); one != nil {
			slots = append(slots, one)
		}
	}
	return slots
}

// reportMarkerField reports a marker that is not a blank field of a record.
func (c *collector) reportMarkerField(m *model.Message, named *types.Named, site fieldSite, v *types.Var, marker string) {
	switch {
	case m.Named == named && c.foreign == 0 && (marker != versionMarker || hasMarker(named)):
	case marker == versionMarker:
		c.report(site.at, site.subject, "a field of type persistable.Version is filled with the version of the record: it belongs in the persistable struct itself, with a marker such as persistable.Type")
	default:
		c.report(site.at, site.subject, fmt.Sprintf("field %s has the marker type persistable.%s; a marker is a blank field of a persistable struct", v.Name(), marker))
	}
}

// newSlot makes one Go field of a struct a stored field or an embedded struct.
func (c *collector) newSlot(m *model.Message, v *types.Var, site fieldSite, o tags.FieldOptions, path []string, within []*types.Named) *model.Slot {
	path = append(slices.Clone(path), v.Name())
	if v.Embedded() {
		if embedded, handled := c.flattenEmbedded(m, v, site, o, path, within); handled {
			return embedded
		}
	}
	if !v.Exported() {
		c.report(site.at, site.subject, "an unexported field cannot be stored; export it, or leave it out with persist:\"-\"")
		return nil
	}
	f := &model.Field{
		GoName: v.Name(), Name: v.Name(), Path: path, At: site.at, Subject: site.subject,
		Options: o, Number: o.Number, Foreign: c.foreign > 0,
	}
	if o.Name != "" {
		f.Name = o.Name
	} else if message := tags.CheckName(f.Name); message != "" {
		c.report(site.at, site.subject, message+"; give the field a name=")
	}
	var reason string
	if f.Kind, reason = c.kindOf(v.Type(), o.Text); reason != "" {
		c.report(site.at, site.subject, reason)
		f.Kind = nil
	} else if reason := c.whyNotNamed(f.Kind); reason != "" {
		c.report(site.at, site.subject, reason)
		f.Kind = nil
	}
	f.Options.Positions = positions(o.Offsets, site)
	options := optionChecker{c}
	options.setDefault(f, v)
	options.checkFold(f)
	options.checkEnum(f, v)
	options.setBounds(f, v)
	options.checkStamp(f, v)
	m.Fields = append(m.Fields, f)
	return &model.Slot{GoName: v.Name(), Field: f, Type: v.Type()}
}

// flattenEmbedded flattens an embedded struct. handled is false where the embedded
// type is to be stored as a field of its own.
func (c *collector) flattenEmbedded(m *model.Message, v *types.Var, site fieldSite, o tags.FieldOptions, path []string, within []*types.Named) (one *model.Slot, handled bool) {
	t := types.Unalias(v.Type())
	if p, ok := t.(*types.Pointer); ok {
		if _, isStruct := p.Elem().Underlying().(*types.Struct); isStruct {
			c.report(site.at, site.subject, "an embedded pointer cannot be stored; embed the struct by value, or give the field a name")
			return nil, true
		}
	}
	named, ok := t.(*types.Named)
	if !ok || knownForm(named) != noForm || o.Text || marshals(named, "Binary") || marshals(named, "Text") {
		return nil, false
	}
	if _, isStruct := named.Underlying().(*types.Struct); !isStruct {
		return nil, false
	}
	switch {
	case len(o.Offsets) > 0:
		c.report(site.at, site.subject, "the fields of an embedded struct are stored as fields of the outer one; write the options at those fields")
	case !v.Exported() && c.isOutside(v.Pkg()):
		c.report(site.at, site.subject, "an unexported embedded struct of another package cannot be stored")
		return nil, true
	case hasMarker(named):
		c.report(site.at, site.subject, fmt.Sprintf("%s is persistable itself; give the field a name to store it as a nested message", named.Obj().Name()))
		return nil, true
	case slices.ContainsFunc(within, func(w *types.Named) bool { return types.Identical(w, named) }):
		return nil, true
	}
	if c.isOutside(named.Obj().Pkg()) && c.foreign == 0 {
		c.foreign++
		inner := c.walkFields(m, named, path, append(within, named))
		c.foreign--
		if c.reason != "" {
			c.report(site.at, site.subject, fmt.Sprintf("%s cannot be stored: %s", c.typeText(named), c.takeReason()))
		}
		return &model.Slot{GoName: v.Name(), Embedded: inner, Type: named}, true
	}
	return &model.Slot{GoName: v.Name(), Embedded: c.walkFields(m, named, path, append(within, named)), Type: named}, true
}

// checkFieldNames reports fields of one message that share a stable name, and
// finds the fields that a short selector names.
func (c *collector) checkFieldNames(m *model.Message) {
	byName, goNames := map[string]*model.Field{}, map[string]int{}
	for _, f := range m.Fields {
		goNames[f.GoName]++
		if first := byName[f.Name]; first != nil {
			c.report(f.OptionAt("name"), f.Subject, fmt.Sprintf("the name %s is that of field %s already; choose another with name=", f.Name, first.GoName))
			continue
		}
		byName[f.Name] = f
	}
	optionChecker{c}.checkStampsOnce(m)
	for _, slot := range m.Literal {
		if slot.Embedded != nil {
			goNames[slot.GoName]++
		}
	}
	for _, name := range unstoredNames(m) {
		goNames[name]++
	}
	for _, f := range m.Fields {
		f.Short = goNames[f.GoName] == 1
	}
}

// unstoredNames are the fields of the struct itself that are not stored: they hide
// fields of the same name in embedded structs.
func unstoredNames(m *model.Message) (names []string) {
	for v := range m.Named.Underlying().(*types.Struct).Fields() {
		if !slices.ContainsFunc(m.Literal, func(s *model.Slot) bool { return s.GoName == v.Name() }) {
			names = append(names, v.Name())
		}
	}
	return names
}

// valuesOf returns the fields of a message with values that can be compared, and those of the
// structs that it holds once. path leads to the message, through those within.
func (c *collector) valuesOf(m *model.Message, path []*model.Field, within []*model.Message) (list []*model.Component) {
	within = append(slices.Clip(within), m)
	for _, f := range m.Fields {
		steps := append(slices.Clip(path), f)
		if inner := f.Nested(); inner != nil {
			if !slices.Contains(within, inner) {
				list = append(list, c.valuesOf(inner, steps, within)...)
			}
			continue
		}
		if one, reason := c.newComponent(steps); one != nil && reason == "" {
			list = append(list, one)
		}
	}
	return list
}

// messageOf returns the message of a named struct and walks its fields when it
// is first met.
func (c *collector) messageOf(named *types.Named) *model.Message {
	key := types.TypeString(named, nil)
	if m := c.byType[key]; m != nil {
		c.reason = cmp.Or(c.reason, m.Reason)
		return m
	}
	m := &model.Message{
		GoName: named.Obj().Name(), Name: c.messageName(named), Named: named,
		At: c.loaded.Position(named.Obj().Pos()),
	}
	c.byType[key] = m
	c.pkg.Messages = append(c.pkg.Messages, m)
	outside := c.isOutside(named.Obj().Pkg())
	if !outside {
		c.collectFields(m)
		return m
	}
	before := c.reason
	c.reason = ""
	c.foreign++
	c.collectFields(m)
	c.foreign--
	m.Reason = c.reason
	c.reason = cmp.Or(before, m.Reason)
	return m
}

// collectFields walks and checks the fields of a message.
func (c *collector) collectFields(m *model.Message) {
	m.Literal = c.walkFields(m, m.Named, nil, []*types.Named{m.Named})
	c.checkFieldNames(m)
}

// messageName is the key-stable name of a nested struct: its Go name, with the
// import path if it is of another package, or what a blank field says.
func (c *collector) messageName(named *types.Named) string {
	name := c.stableName(named)
	s, ok := named.Underlying().(*types.Struct)
	if !ok || c.isOutside(named.Obj().Pkg()) {
		return name
	}
	for i := range s.NumFields() {
		if s.Field(i).Name() != "_" || markerOf(s.Field(i).Type()) != "" {
			continue
		}
		site := c.siteOf(named.Obj().Name(), s, i)
		if t, found := c.parseTag(site); found {
			options, faults := tags.ParseFieldOptions(t)
			if len(faults) == 0 && (options.Name == "" || len(options.Offsets) > 1) {
				faults = []tags.Fault{{Offset: t.Offset(0), Message: "a blank field can only name its struct: name=…"}}
			}
			c.reportTag(site, faults)
			name = options.Name
		}
	}
	return name
}

// takeReason returns and forgets the fault of a struct of another package.
func (c *collector) takeReason() string {
	reason := c.reason
	c.reason = ""
	return reason
}
