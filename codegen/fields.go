// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// message returns the message of a named struct and walks its fields when it
// is first met.
func (c *collector) message(named *types.Named) *message {
	key := types.TypeString(named, nil)
	if m := c.byType[key]; m != nil {
		c.reason = cmp.Or(c.reason, m.reason)
		return m
	}
	m := &message{
		goName: named.Obj().Name(), name: c.messageName(named), named: named,
		at: c.loaded.position(named.Obj().Pos()),
	}
	c.byType[key] = m
	c.pkg.messages = append(c.pkg.messages, m)
	outside := c.outside(named.Obj().Pkg())
	if !outside {
		c.fieldsOf(m)
		return m
	}
	before := c.reason
	c.reason = ""
	c.foreign++
	c.fieldsOf(m)
	c.foreign--
	m.reason = c.reason
	c.reason = cmp.Or(before, m.reason)
	return m
}

// fieldsOf walks and checks the fields of a message.
func (c *collector) fieldsOf(m *message) {
	m.literal = c.walk(m, m.named, nil, []*types.Named{m.named})
	c.checkFieldNames(m)
}

// outside reports whether p is not the package that is generated for.
func (c *collector) outside(p *types.Package) bool { return p != nil && p.Path() != c.pkg.path }

// messageName is the key-stable name of a nested struct: its Go name, with the
// import path if it is of another package, or what a blank field says.
func (c *collector) messageName(named *types.Named) string {
	name := c.stableName(named)
	s, ok := named.Underlying().(*types.Struct)
	if !ok || c.outside(named.Obj().Pkg()) {
		return name
	}
	for i := range s.NumFields() {
		if s.Field(i).Name() != "_" || markerOf(s.Field(i).Type()) != "" {
			continue
		}
		site := c.site(named.Obj().Name(), s, i)
		if t, found := c.tag(site); found {
			options, faults := parseFieldOptions(t)
			if len(faults) == 0 && (options.name == "" || len(options.at) > 1) {
				faults = []fault{{t.offset(0), "a blank field can only name its struct: name=…"}}
			}
			c.reportTag(site, faults)
			name = options.name
		}
	}
	return name
}

// stableName is the Go name of a type, with the import path if it is of another
// package. Names are words of persist.lock.
func (c *collector) stableName(named *types.Named) string {
	name := types.TypeString(named, func(p *types.Package) string {
		if c.outside(p) {
			return p.Path()
		}
		return ""
	})
	return strings.ReplaceAll(name, " ", "")
}

// walk collects the stored fields of a struct into m, embedded structs
// flattened. within holds the structs being walked, against endless recursion.
func (c *collector) walk(m *message, named *types.Named, path []string, within []*types.Named) []*slot {
	s := named.Underlying().(*types.Struct)
	var slots []*slot
	for i := range s.NumFields() {
		v := s.Field(i)
		if v.Name() == "_" {
			continue
		}
		site := c.site(m.goName, s, i)
		var options fieldOptions
		if t, found := c.tag(site); found {
			var faults []fault
			options, faults = parseFieldOptions(t)
			c.reportTag(site, faults)
		}
		if options.ignore {
			if v.Name() == "ID" && m.named == named && hasMarker(named) && c.foreign == 0 {
				c.report(site.inTag(options.at["-"]), site.subject, `the ID field cannot be left out; remove "-"`)
			}
			continue
		}
		if marker := markerOf(v.Type()); marker != "" {
			c.markerField(m, named, site, v, marker)
			continue
		}
		if one := c.slot(m, v, site, options, path, within); one != nil {
			slots = append(slots, one)
		}
	}
	return slots
}

// markerField reports a marker that is not a blank field of a record.
func (c *collector) markerField(m *message, named *types.Named, site fieldSite, v *types.Var, marker string) {
	if m.named != named || c.foreign > 0 {
		c.report(site.at, site.subject, fmt.Sprintf("field %s of a marker type persistable.%s", v.Name(), marker))
	}
}

// slot makes one Go field of a struct a stored field or an embedded struct.
func (c *collector) slot(m *message, v *types.Var, site fieldSite, o fieldOptions, path []string, within []*types.Named) *slot {
	path = append(slices.Clone(path), v.Name())
	if v.Embedded() {
		if embedded, handled := c.embedded(m, v, site, o, path, within); handled {
			return embedded
		}
	}
	if !v.Exported() {
		c.report(site.at, site.subject, "an unexported field cannot be stored; export it, or leave it out with persist:\"-\"")
		return nil
	}
	f := &field{
		goName: v.Name(), name: v.Name(), path: path, at: site.at, subject: site.subject,
		options: o, number: o.number, foreign: c.foreign > 0,
	}
	if o.name != "" {
		f.name = o.name
	} else if message := checkName(f.name); message != "" {
		c.report(site.at, site.subject, message+"; give the field a name=")
	}
	var reason string
	if f.typ, reason = c.kindOf(v.Type(), o.text); reason != "" {
		c.report(site.at, site.subject, reason)
		f.typ = nil
	}
	f.options.positions = positions(o.at, site)
	m.fields = append(m.fields, f)
	return &slot{goName: v.Name(), field: f, typ: v.Type()}
}

// embedded flattens an embedded struct. handled is false where the embedded
// type is to be stored as a field of its own.
func (c *collector) embedded(m *message, v *types.Var, site fieldSite, o fieldOptions, path []string, within []*types.Named) (one *slot, handled bool) {
	t := types.Unalias(v.Type())
	if p, ok := t.(*types.Pointer); ok {
		if _, isStruct := p.Elem().Underlying().(*types.Struct); isStruct {
			c.report(site.at, site.subject, "an embedded pointer cannot be stored; embed the struct by value, or give the field a name")
			return nil, true
		}
	}
	named, ok := t.(*types.Named)
	if !ok || knownForm(named) != noForm || o.text || marshals(named, "Binary") || marshals(named, "Text") {
		return nil, false
	}
	if _, isStruct := named.Underlying().(*types.Struct); !isStruct {
		return nil, false
	}
	switch {
	case len(o.at) > 0:
		c.report(site.at, site.subject, "an embedded struct's fields are stored as the outer struct's, so options belong to them")
	case !v.Exported() && c.outside(v.Pkg()):
		c.report(site.at, site.subject, "an unexported embedded struct of another package cannot be stored")
		return nil, true
	case hasMarker(named):
		c.report(site.at, site.subject, fmt.Sprintf("%s is persistable itself; give the field a name to store it as a nested message", named.Obj().Name()))
		return nil, true
	case slices.ContainsFunc(within, func(w *types.Named) bool { return types.Identical(w, named) }):
		return nil, true
	}
	if c.outside(named.Obj().Pkg()) && c.foreign == 0 {
		c.foreign++
		inner := c.walk(m, named, path, append(within, named))
		c.foreign--
		if c.reason != "" {
			c.report(site.at, site.subject, fmt.Sprintf("%s cannot be stored: %s", c.typeText(named), c.takeReason()))
		}
		return &slot{goName: v.Name(), embedded: inner, typ: named}, true
	}
	return &slot{goName: v.Name(), embedded: c.walk(m, named, path, append(within, named)), typ: named}, true
}

// takeReason returns and forgets the fault of a struct of another package.
func (c *collector) takeReason() string {
	reason := c.reason
	c.reason = ""
	return reason
}

// positions turns the offsets of options into positions of the source.
func positions(offsets map[string]int, s fieldSite) map[string]token.Position {
	m := map[string]token.Position{}
	for option, offset := range offsets {
		m[option] = s.inTag(offset)
	}
	return m
}

// checkFieldNames reports fields of one message that share a stable name, and
// finds the fields that a short selector names.
func (c *collector) checkFieldNames(m *message) {
	byName, goNames := map[string]*field{}, map[string]int{}
	for _, f := range m.fields {
		goNames[f.goName]++
		if first := byName[f.name]; first != nil {
			c.report(f.optionAt("name"), f.subject, fmt.Sprintf("the name %s is that of field %s already; choose another with name=", f.name, first.goName))
			continue
		}
		byName[f.name] = f
	}
	for _, slot := range m.literal {
		if slot.embedded != nil {
			goNames[slot.goName]++
		}
	}
	for _, f := range m.fields {
		f.short = goNames[f.goName] == 1
	}
}

// optionAt is the position of an option in the field's tag, or of the field.
func (f *field) optionAt(option string) token.Position {
	if at, ok := f.options.positions[option]; ok {
		return at
	}
	return f.at
}
