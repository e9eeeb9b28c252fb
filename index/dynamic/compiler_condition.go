// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// newCondition resolves a comparison. The signature does not have the kind of the field,
// so it is that of the schema; a field that programs know as one that may be null and
// as one that may not is refused, because they do not agree about records in which it
// is not stored.
func (c *compiler) newCondition(t comparison) (one condition, err error) {
	p, err := findPath(c.schema, t.field)
	if err != nil {
		return one, err
	}
	m := mark{}
	for _, f := range p {
		switch nullableOf(f) {
		case always:
			m.null = true
		case changed:
			return one, fmt.Errorf("the field %s may be null in some programs only, which do not agree about the condition", p)
		}
	}
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
