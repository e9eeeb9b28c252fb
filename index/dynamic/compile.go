// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// Compile makes the program of an index from its name in keys, its layout and the
// schema in the header of the store. It returns an *[Error] if one of them has what
// this version cannot compute, or if they do not fit together.
func Compile(keyName, layout string, s *schema.Schema) (*Program, error) {
	p, err := compile(keyName, layout, s)
	if err != nil {
		return nil, &Error{Index: keyName, Layout: layout, Reason: err.Error(), Err: err}
	}
	return p, nil
}

func compile(keyName, layout string, s *schema.Schema) (*Program, error) {
	d, err := index.ParseLayout(keyName, layout)
	if err != nil {
		return nil, err
	}
	c := compiler{schema: s, tree: newTree(), kinds: d.Kinds(), program: &Program{definition: d, slice: -1}}
	if err := errors.Join(c.addFields(), c.addAmount(), c.addWhere(), c.addCover()); err != nil {
		return nil, err
	}
	c.program.record = c.tree.root
	messages, slots := c.tree.messages, c.tree.slots
	c.program.states.New = func() any { return newState(messages, slots) }
	return c.program, nil
}

// compiler makes one program.
type compiler struct {
	schema  *schema.Schema
	tree    *tree
	kinds   []string // of the signature that are still to be used
	program *Program
}

// nextKind takes a kind of the signature. The layout has as many as it needs.
func (c *compiler) nextKind() string {
	kind := c.kinds[0]
	c.kinds = c.kinds[1:]
	return kind
}

// addFields resolves the fields of the key.
func (c *compiler) addFields() error {
	p := c.program
	for i, name := range p.definition.Fields {
		one, err := c.newComponent(name, parseMark(c.nextKind()))
		if err != nil {
			return err
		}
		one.descending = p.definition.IsDescending(i)
		if one.slice && p.slice >= 0 {
			return errors.New("it has two slices")
		}
		if one.slice {
			p.slice = i
		}
		p.keys = append(p.keys, one)
	}
	return nil
}

// newComponent resolves one field of the layout.
func (c *compiler) newComponent(name string, m mark) (component, error) {
	p, err := findPath(c.schema, name)
	if err != nil {
		return component{}, err
	}
	return c.tree.newComponent(p, m)
}

// addAmount resolves the field that a sum adds.
func (c *compiler) addAmount() error {
	d := &c.program.definition
	if d.Of == "" {
		return nil
	}
	m := parseMark(c.nextKind())
	one, err := c.newComponent(d.Of, m)
	if err != nil {
		return err
	}
	if m.slice || m.key != "int" && m.key != "duration" {
		return fmt.Errorf("a sum of %s is not known", m.text())
	}
	c.program.amount = &one
	return nil
}

// addWhere resolves the condition.
func (c *compiler) addWhere() error {
	comparisons, err := parseWhere(c.program.definition.Where)
	if err != nil {
		return err
	}
	for _, one := range comparisons {
		null := slices.ContainsFunc(comparisons, func(other comparison) bool { return other.field == one.field && other.constant == "null" })
		test, err := c.newCondition(one, null)
		if err != nil {
			return fmt.Errorf("the condition %s: %w", one, err)
		}
		c.program.where = append(c.program.where, test)
	}
	return nil
}
