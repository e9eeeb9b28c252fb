// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/fold"
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
		if t.folded[p.Name] {
			values[i] = fold.Element(values[i])
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

// conditionField makes conditions on a field of tuple elements.
type conditionField struct {
	*message.Path
	field erased.Field[[]byte]
}

func fieldOf(p *message.Path) conditionField {
	return conditionField{p, erased.NewField(p.Name, func(b, element []byte) []byte { return append(b, element...) })}
}

// compare returns the condition that the field compares so with the values.
func (f conditionField) compare(operator string, values [][]byte) (c erased.Condition, err error) {
	v := values[0]
	switch operator {
	case "=":
		return f.field.Where(erased.Equal, v), nil
	case "in":
		return f.field.In(values), nil
	case "prefix":
		start := erased.PrefixOf(v)
		if start == nil {
			return c, fmt.Errorf("%s: only a text or bytes have a prefix", f.Name)
		}
		return f.field.Where(erased.Prefix, start), nil
	case ">":
		return f.field.Where(erased.After, v), nil
	case ">=":
		return f.field.Where(erased.From, v), nil
	case "<":
		return f.notNull(erased.Before, v), nil
	case "<=":
		return f.notNull(erased.To, v), nil
	}
	switch {
	case f.IsList():
		return c, fmt.Errorf("%s: it is a list, which != does not compare", f.Name)
	case tuple.IsNil(v):
		return f.field.Where(erased.After, v), nil
	}
	return f.notNull(erased.NotEqual, v), nil
}

// notNull returns a comparison with a value, which null does not fulfil.
func (f conditionField) notNull(c erased.Comparison, v []byte) erased.Condition {
	compared := f.field.Where(c, v)
	if !f.IsNullable() {
		return compared
	}
	return erased.AllOf([]erased.Condition{f.field.Where(erased.After, tuple.AppendNil(nil)), compared})
}

// ErrWhere: a condition is not one of the type of the records. The text says what is wrong.
var ErrWhere = errors.New("dynamic: the condition cannot be used")

// excerpt quotes the beginning of a condition.
func excerpt(text string) string {
	if len(text) > 300 {
		return fmt.Sprintf("%.300q… (%d bytes)", text, len(text))
	}
	return fmt.Sprintf("%q", text)
}
