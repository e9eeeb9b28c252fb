// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
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
	c.setDefault(f, v)
	c.checkFold(f)
	c.checkEnum(f, v)
	c.setBounds(f, v)
	c.checkStamp(f, v)
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
	c.checkStampsOnce(m)
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

// setDefault sets the default that the option default= gives a field: a constant, as
// Go's compiler evaluates it where the field stands.
func (c *collector) setDefault(f *model.Field, v *types.Var) {
	text := f.Options.Default
	if text == "" || f.Kind == nil {
		return
	}
	report := func(format string, args ...any) {
		c.report(f.OptionAt("default"), f.Subject, "default="+text+": "+fmt.Sprintf(format, args...))
	}
	if c.foreign > 0 {
		report("a field of a struct of another package has no default")
		return
	}
	value, err := c.loaded.Eval(v.Pos(), goLiteral(text))
	switch {
	case err != nil:
		remedy := tags.Suggest(text, c.constantsOf(v.Type()))
		if f.Kind.Form == model.FormString && token.IsIdentifier(text) && !strings.Contains(remedy, "did you mean") {
			remedy += fmt.Sprintf("; a string stands in single quotes: default='%s'", text)
		}
		report("it is not a constant of this package%s", remedy)
		return
	case value.Value == nil || value.Value.Kind() == constant.Unknown:
		report("it is not a constant")
		return
	case !isAssignable(value.Type, v.Type()):
		report("it is of type %s, the field of type %s", c.typeText(value.Type), c.typeText(v.Type()))
		return
	}
	if f.Default, err = formatConstant(f.Kind, value.Value); err != nil {
		report("%v", err)
	}
}

// checkFold reports the option fold at a field that is not a text.
func (c *collector) checkFold(f *model.Field) {
	if !f.Options.Fold || f.Kind == nil {
		return
	}
	k := f.Kind
	if k.Form == model.FormPointer || k.Form == model.FormSlice {
		k = k.Elem
	}
	if k.Form != model.FormString {
		c.report(f.OptionAt("fold"), f.Subject, "fold is for strings; this field is of type "+c.typeText(f.Kind.GoType))
	}
}

// foldedKind returns the kind of a field's values in keys.
func foldedKind(f *model.Field, k *model.Kind) *model.Kind {
	if !f.Options.Fold || k.Form != model.FormString {
		return k
	}
	folded := *k
	folded.Folded = true
	return &folded
}

// checkFolded reports folded fields of a record that no index has: tools know from indexes
// which fields are folded. In a struct of another package such a field counts as not folded.
func (c *collector) checkFolded(r *model.Record, m *markers) {
	for _, one := range r.Values {
		f := one.Steps[len(one.Steps)-1]
		has := func(other *model.Component) bool { return other.Name() == one.Name() }
		isIndexed := func(d *model.Index) bool { return d.Kind != model.Search && slices.ContainsFunc(d.Components, has) }
		switch {
		case !one.Element.Folded || slices.ContainsFunc(r.Indexes, isIndexed) || m.names(one):
		case f.Foreign:
			one.Element.Folded = false
		default:
			c.Add(f.OptionAt("fold"), f.Subject, "fold belongs to a field of an index; no index of %s has %s", r.GoName, one.Name())
		}
	}
}

// checkRows reports rows that would have a folded field, and not the text as it is written.
func (c *collector) checkRows(r *model.Record, m markerIndex, components []*model.Component) bool {
	if len(m.options.CoverFields) == 0 {
		return true
	}
	for _, one := range components {
		if one.Element.Folded {
			c.Add(m.site.inTag(m.options.CoverFields[0].Offset), r.GoName, "a row would have %s folded, not as it is written; write cover for the whole record", one.Name())
			return false
		}
	}
	return true
}

// checkExtreme reports a Min or Max of a folded field, which would not return the text as it is
// written.
func (c *collector) checkExtreme(r *model.Record, m markerAggregate) bool {
	if m.marker != "Min" && m.marker != "Max" {
		return true
	}
	steps, message := findSteps(r.Message, m.options.Of.Text)
	if message != "" || !steps[len(steps)-1].Options.Fold {
		return true
	}
	c.Add(m.site.inTag(m.options.Of.Offset), r.GoName, "%s is folded, and %s would return it so, not as it is written; take the first record of an index on it", m.options.Of.Text, m.marker)
	return false
}

// checkEnum reports the option enum at a field that has no constants with names.
func (c *collector) checkEnum(f *model.Field, v *types.Var) {
	switch {
	case !f.Options.Enum || f.Kind == nil:
	case f.Kind.Form == model.FormMap:
		c.report(f.OptionAt("enum"), f.Subject, "enum: a map has keys and values, and the option does not say of which the names are; remove it, or store a slice of structs with a field tagged enum")
	case len(f.Kind.Enums()) == 0:
		c.report(f.OptionAt("enum"), f.Subject, fmt.Sprintf("enum: %s has no names for values; declare a type of integers or strings with two or more constants in this package, such as type Status int and const Open, Done Status = 1, 2", c.typeText(v.Type())))
	}
}

// checkStampsOnce reports a second field with the option created, or updated.
func (c *collector) checkStampsOnce(m *model.Message) {
	first := map[string]*model.Field{}
	for _, f := range m.Fields {
		for _, option := range f.Stamps() {
			if other := first[option]; other != nil {
				c.report(f.OptionAt(option), f.Subject, fmt.Sprintf("%s has the option %s already; a record has one such time", other.GoName, option))
				continue
			}
			first[option] = f
		}
	}
}

// checkStamp reports the options created and updated at a field that is not a time.
func (c *collector) checkStamp(f *model.Field, v *types.Var) {
	for _, option := range f.Stamps() {
		switch {
		case f.Kind == nil:
		case f.Kind.Form != model.FormTime:
			c.report(f.OptionAt(option), f.Subject, fmt.Sprintf("%s: the library sets a field of type time.Time, not one of %s", option, c.typeText(v.Type())))
		case c.foreign > 0:
			c.report(f.OptionAt(option), f.Subject, option+": the struct is of another package; write the field into one of this package")
		}
	}
}

// setBounds sets the bounds that the options min=, max=, maxlen= and match= give a field:
// constants, as Go's compiler evaluates them where the field stands.
func (c *collector) setBounds(f *model.Field, v *types.Var) {
	values := map[string]constant.Value{}
	for _, option := range schema.BoundOptions {
		text, found := f.Options.Bounds[option]
		if !found || f.Kind == nil {
			continue
		}
		value, literal, reason := c.boundOf(f, v, option, text)
		if reason != "" {
			c.report(f.OptionAt(option), f.Subject, option+"="+text+": "+reason)
			continue
		}
		f.Bounds, values[option] = append(f.Bounds, option+"="+literal), value
	}
	if least, most := values["min"], values["max"]; least != nil && most != nil && constant.Compare(most, token.LSS, least) {
		c.report(f.OptionAt("max"), f.Subject, "max= is less than min=, so no value can be written")
	}
}

// boundOf returns the value of a bound, and as a literal, or why it cannot be one.
func (c *collector) boundOf(f *model.Field, v *types.Var, option, text string) (value constant.Value, literal, reason string) {
	k := f.Kind.Bounded(option)
	switch {
	case c.foreign > 0:
		return nil, "", "a field of a struct of another package has no bounds"
	case k == nil:
		return nil, "", fmt.Sprintf("a field of type %s has no %s; %s", c.typeText(v.Type()), option, boundedBy[option])
	}
	one, err := c.loaded.Eval(v.Pos(), goLiteral(text))
	if err != nil || one.Value == nil || one.Value.Kind() == constant.Unknown {
		return nil, "", "it is not a constant of this package" + wantedBound[option]
	}
	switch option {
	case "maxlen":
		if n, ok := constant.Int64Val(constant.ToInt(one.Value)); !ok || n < 1 {
			return nil, "", "it is not a length: write an integer from 1"
		}
		return one.Value, constant.ToInt(one.Value).ExactString(), ""
	case "match":
		if one.Value.Kind() != constant.String {
			return nil, "", "it is not a text" + wantedBound[option]
		}
		if _, err := regexp.Compile(constant.StringVal(one.Value)); err != nil {
			return nil, "", fmt.Sprintf("it is not a regular expression of Go: %v", err)
		}
	}
	if !isAssignable(one.Type, k.GoType) && option != "match" {
		return nil, "", fmt.Sprintf("it is of type %s, and is compared with values of type %s", c.typeText(one.Type), c.typeText(k.GoType))
	}
	if literal, err = formatConstant(k, one.Value); err != nil {
		return nil, "", err.Error()
	}
	return one.Value, literal, ""
}

// boundedBy says what each bound is for.
var boundedBy = map[string]string{
	"min":    "it is for numbers and durations, and for those in slices and maps",
	"max":    "it is for numbers and durations, and for those in slices and maps",
	"maxlen": "it is for strings, bytes, slices and maps",
	"match":  "it is for strings, and for those in slices and maps",
}

// wantedBound says how a value is written.
var wantedBound = map[string]string{
	"match": "; write a string constant, or the regular expression in single quotes: match='^[A-Z]+$'",
}
