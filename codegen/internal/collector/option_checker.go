// SPDX-License-Identifier: Apache-2.0

package collector

import (
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

// optionChecker checks the options of fields and markers that are more than a word.
type optionChecker struct{ *collector }

// setDefault sets the default that the option default= gives a field: a constant, as
// Go's compiler evaluates it where the field stands.
func (c optionChecker) setDefault(f *model.Field, v *types.Var) {
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
func (c optionChecker) checkFold(f *model.Field) {
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
func (c optionChecker) checkFolded(r *model.Record, m *markers) {
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
func (c optionChecker) checkRows(r *model.Record, m markerIndex, components []*model.Component) bool {
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
func (c optionChecker) checkExtreme(r *model.Record, m markerAggregate) bool {
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
func (c optionChecker) checkEnum(f *model.Field, v *types.Var) {
	switch {
	case !f.Options.Enum || f.Kind == nil:
	case f.Kind.Form == model.FormMap:
		c.report(f.OptionAt("enum"), f.Subject, "enum: a map has keys and values, and the option does not say of which the names are; remove it, or store a slice of structs with a field tagged enum")
	case len(f.Kind.Enums()) == 0:
		c.report(f.OptionAt("enum"), f.Subject, fmt.Sprintf("enum: %s has no names for values; declare a type of integers or strings with two or more constants in this package, such as type Status int and const Open, Done Status = 1, 2", c.typeText(v.Type())))
	}
}

// checkStampsOnce reports a second field with the option created, updated, or deleted.
func (c optionChecker) checkStampsOnce(m *model.Message) {
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

// checkStamp reports the options created, updated and deleted at a field that is not a time.
func (c optionChecker) checkStamp(f *model.Field, v *types.Var) {
	for _, option := range f.Stamps() {
		switch {
		case f.Kind == nil:
		case option == schema.Deleted && !slices.Contains([]string{"time.Time", "*time.Time"}, types.TypeString(types.Unalias(v.Type()), nil)):
			c.report(f.OptionAt(option), f.Subject, fmt.Sprintf("deleted: the library sets a field of type time.Time or *time.Time, not one of %s", c.typeText(v.Type())))
		case option != schema.Deleted && f.Kind.Form != model.FormTime:
			c.report(f.OptionAt(option), f.Subject, fmt.Sprintf("%s: the library sets a field of type time.Time, not one of %s", option, c.typeText(v.Type())))
		case c.foreign > 0:
			c.report(f.OptionAt(option), f.Subject, option+": the struct is of another package; write the field into one of this package")
		}
	}
}

// setBounds sets the bounds that the options min=, max=, maxlen= and match= give a field:
// constants, as Go's compiler evaluates them where the field stands.
func (c optionChecker) setBounds(f *model.Field, v *types.Var) {
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
func (c optionChecker) boundOf(f *model.Field, v *types.Var, option, text string) (value constant.Value, literal, reason string) {
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
