// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/where"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// newCondition returns the condition that an expression says.
func (t *recordType) newCondition(e where.Expression) (c erased.Condition, err error) {
	if e.Comparison != nil {
		return t.newComparison(e.Comparison)
	}
	combine, parts := erased.AllOf, e.All
	if e.Any != nil {
		combine, parts = erased.AnyOf, e.Any
	}
	all := make([]erased.Condition, len(parts))
	for i, part := range parts {
		if all[i], err = t.newCondition(part); err != nil {
			return c, err
		}
	}
	return combine(all), nil
}

// newComparison returns the condition that a comparison says.
func (t *recordType) newComparison(c *where.Comparison) (erased.Condition, error) {
	p, err := t.body.Path(c.Field)
	if err != nil {
		return erased.Condition{}, err
	}
	values := make([][]byte, len(c.Values))
	for i, v := range c.Values {
		if values[i], err = newConstant(p, v); err != nil {
			return erased.Condition{}, err
		}
		if v.IsNull() && c.Operator != "=" && c.Operator != "!=" {
			return erased.Condition{}, fmt.Errorf("%s: null is compared by = and != only", p.Name)
		}
	}
	return fieldOf(p).compare(c.Operator, values)
}

// newConstant returns a value as a tuple element.
func newConstant(p *message.Path, v where.Value) ([]byte, error) {
	switch {
	case v.IsNull() && !p.IsNullable():
		return nil, fmt.Errorf("%s: it cannot be null", p.Name)
	case v.IsNull():
		return tuple.AppendNil(nil), nil
	case p.IsText() && !v.Quoted:
		return nil, fmt.Errorf("%s: it is a text: write %.60q in quotes", p.Name, v.Text)
	}
	return p.ParseKey(v.Text)
}
