// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// newCondition resolves a comparison. The signature does not have the kind of the field,
// so it is that of the schema. Of a field that some programs know as one that may be null,
// and some as one that may not, the index is of the former if null says so: a condition of
// theirs compares the field with null as well.
func (c *compiler) newCondition(t comparison, null bool) (one condition, err error) {
	p, err := findPath(c.schema, t.field)
	if err != nil {
		return one, err
	}
	isAlways := func(f *schema.Field) bool { return nullableOf(f) == always }
	m := mark{null: null || slices.ContainsFunc(p, isAlways)}
	k, _ := schema.ParseKind(p.last().Kind)
	v, ok := newValue(k)
	if !ok || k.Wrap != "" && k.Wrap != "*" {
		return one, fmt.Errorf("the field %s is %s in the store, whose values only the type's Go code can compare", p, k)
	}
	m.key = v.key
	one = condition{operator: t.operator, float: k.Base == "float" || k.Base == "double"}
	if one.component, err = c.tree.newComponent(p, m); err != nil {
		return one, err
	}
	if t.constant == "null" {
		return one, one.checkNull(m)
	}
	one.constant, err = parseConstant(k, t.constant)
	return one, err
}
