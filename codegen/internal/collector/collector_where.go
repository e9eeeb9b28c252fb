// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// resolveWhere resolves the condition of a partial index: nil where there is none, or
// not ok after a fault.
func (c *collector) resolveWhere(r *model.Record, site fieldSite, w tags.Where) (p *model.Predicate, ok bool) {
	if len(w.Comparisons) == 0 {
		return nil, true
	}
	var list []model.Comparison
	ok = true
	for _, one := range w.Comparisons {
		resolved, at, message := c.resolveComparison(r, site, one)
		if message != "" {
			c.Add(site.inTag(at), r.GoName, "%s", message)
		}
		ok = ok && message == "" && resolved.Component != nil
		list = append(list, resolved)
	}
	if !ok {
		return nil, false
	}
	return model.NewPredicate(list), true
}

// resolveComparison resolves a comparison, or returns its fault. Both are empty where the
// field's own fault was reported.
func (c *collector) resolveComparison(r *model.Record, site fieldSite, t tags.Comparison) (resolved model.Comparison, at int, message string) {
	field, message := c.comparedField(r, t.Field.Text)
	if message != "" || field == nil {
		return resolved, t.Field.Offset, message
	}
	resolved = model.Comparison{Component: field, Operator: t.Operator}
	switch {
	case t.Operator == "":
		if field.Element.Form != model.FormBool {
			return resolved, t.Field.Offset, fmt.Sprintf("%s is no bool, so it does not stand alone; compare it: %s=…", t.Field.Text, t.Field.Text)
		}
		resolved.Operator, resolved.Constant = "=", fmt.Sprint(!t.Not)
		return resolved, 0, ""
	case t.Operand == model.Null && !t.Quoted:
		return c.compareWithNull(resolved, t)
	}
	constant, message := c.constantOf(site, field, t)
	if message != "" {
		return resolved, t.OperandOffset, message
	}
	return compareWith(resolved, constant, t)
}

// comparedField finds the field of a comparison.
func (c *collector) comparedField(r *model.Record, path string) (*model.Component, string) {
	steps, reason := findSteps(r.Message, path)
	if reason != "" {
		return nil, reason
	}
	one := &model.Component{Steps: steps}
	for _, s := range steps {
		if s.Kind == nil {
			return nil, ""
		}
		one.Nullable = one.Nullable || s.Kind.Form == model.FormPointer
	}
	one.Element = steps[len(steps)-1].Kind
	switch one.Element.Form {
	case model.FormPointer:
		one.Element = one.Element.Elem
	case model.FormSlice, model.FormMap:
		return nil, fmt.Sprintf("%s has many values; a condition compares a field that has one", path)
	}
	return one, ""
}

// compareWithNull checks a comparison with null.
func (c *collector) compareWithNull(resolved model.Comparison, t tags.Comparison) (_ model.Comparison, at int, message string) {
	switch {
	case t.Operator != "=" && t.Operator != "!=":
		return resolved, t.OperandOffset, fmt.Sprintf("null has no order; write %s=null or %s!=null", t.Field.Text, t.Field.Text)
	case !resolved.Component.Nullable:
		return resolved, t.OperandOffset, fmt.Sprintf("%s cannot be null, because it is no pointer; compare it with a value", t.Field.Text)
	}
	resolved.Constant = model.Null
	return resolved, 0, ""
}

// compareWith checks a comparison with a constant. That of a bool is always written
// with the operator =.
func compareWith(resolved model.Comparison, constant string, t tags.Comparison) (_ model.Comparison, at int, message string) {
	if resolved.Component.Element.Form != model.FormBool {
		resolved.Constant = constant
		return resolved, 0, ""
	}
	if t.Operator != "=" && t.Operator != "!=" {
		return resolved, t.OperandOffset, fmt.Sprintf("a bool has no order; write %s or not %s", t.Field.Text, t.Field.Text)
	}
	resolved.Constant = fmt.Sprint((constant == "true") == (t.Operator == "="))
	resolved.Operator = "="
	return resolved, 0, ""
}
