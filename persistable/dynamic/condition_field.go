// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

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
