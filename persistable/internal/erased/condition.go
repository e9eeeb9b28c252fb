// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"bytes"

	"github.com/kazahana-db/kazahana/index"
)

// Comparison is how the values of a field compare with a given one.
type Comparison int

// The comparisons.
const (
	Equal Comparison = iota
	From
	After
	To
	Before
)

// Narrow narrows bounds to the values of the next field that compare so with
// the packed value v.
func (c Comparison) Narrow(b index.Bounds, v []byte) index.Bounds {
	switch c {
	case Equal:
		return b.From(v).To(v)
	case From:
		return b.From(v)
	case After:
		return b.After(v)
	case To:
		return b.To(v)
	default:
		return b.Before(v)
	}
}

// NarrowDescending is Narrow for a field whose values are stored in descending order;
// v is in ascending order.
func (c Comparison) NarrowDescending(b index.Bounds, v []byte) index.Bounds {
	v = index.Descend(bytes.Clone(v), 0)
	switch c {
	case From:
		return To.Narrow(b, v)
	case After:
		return Before.Narrow(b, v)
	case To:
		return From.Narrow(b, v)
	case Before:
		return After.Narrow(b, v)
	default:
		return c.Narrow(b, v)
	}
}

// Condition is a condition on one field.
type Condition struct{ clause Clause }

// Clause is what a condition says.
type Clause struct {
	Field string
	Comparison
	Value []byte // a tuple element
}

// Clause returns what the condition says.
func (c Condition) Clause() Clause { return c.clause }

// Field is an indexed field with values of type F.
type Field[F any] struct {
	name   string
	encode func([]byte, F) []byte
}

// NewField returns the field with that name, whose values encode appends as
// tuple elements.
func NewField[F any](name string, encode func([]byte, F) []byte) Field[F] {
	return Field[F]{name, encode}
}

// Where returns the condition that the field compares so with v.
func (f *Field[F]) Where(c Comparison, v F) Condition {
	return Condition{Clause{f.name, c, f.encode(nil, v)}}
}
