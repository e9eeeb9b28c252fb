// SPDX-License-Identifier: Apache-2.0

package reindex

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
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
	isSearch := p.definition.Kind == index.Search
	if isSearch && split == nil {
		return errCannotSplit
	}
	for i, name := range p.definition.Fields {
		one, err := c.newComponent(name, parseMark(c.nextKind()))
		if err != nil {
			return err
		}
		one.descending, one.folded = p.definition.IsDescending(i), p.definition.IsFolded(i)
		if one.folded && fold == nil {
			return fmt.Errorf("the field %s: %w", name, errCannotFold)
		}
		if one.slice && p.slice >= 0 && !isSearch {
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
		return one, fmt.Errorf("the field %s is %s in the store, and only the type's Go code can compare such values", p, k)
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

// addCover resolves the fields that entries copy. They are copied in the order of
// their numbers, as generated code encodes them.
func (c *compiler) addCover() error {
	p := c.program
	for _, name := range p.definition.CoverFields {
		one, err := c.newCoverField(name, c.nextKind())
		if err != nil {
			return err
		}
		p.cover = append(p.cover, one)
	}
	slices.SortFunc(p.cover, func(a, b coverField) int { return cmp.Compare(a.number, b.number) })
	return nil
}

func (c *compiler) newCoverField(name, kind string) (one coverField, err error) {
	f := c.schema.Type().Field(name)
	if f == nil {
		return one, fmt.Errorf("the schema of the store has no field %s", name)
	}
	for _, text := range append([]string{f.Kind}, f.Was...) {
		if k, ok := schema.ParseKind(text); ok && coverText(k) == kind {
			one = coverField{number: protowire.Number(f.Number), repeat: strings.HasSuffix(k.Wrap, "]")}
			one.preset = preset(f)
			return one, one.setKind(k)
		}
	}
	return one, fmt.Errorf("the field %s is %s in the store, and %s in the index", name, f.Kind, kind)
}

// preset returns the default of a field as it would be stored, after the tag; nil if
// the field has none. A record that lacks the field has it.
func preset(f *schema.Field) []byte {
	v, _ := schema.ParseDefault(f.Kind, f.Default) // the schema was parsed
	switch v := v.(type) {
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case string:
		return wire.AppendString(nil, v)
	case uint64:
		return wire.AppendVarint(nil, v)
	case int64:
		if f.Kind == "duration" {
			return wire.AppendDuration(nil, time.Duration(v))
		}
		return wire.AppendZigzag(nil, v)
	case float64:
		if f.Kind == "float" {
			return wire.AppendFloat32(nil, float32(v))
		}
		return wire.AppendFloat64(nil, v)
	}
	return nil
}

// tree collects the fields that a program needs, each once.
type tree struct {
	root            *message
	messages, slots int
}

func newTree() *tree { return &tree{root: &message{}, messages: 1} }

// addPath has the values at the end of a path kept. It returns their slot and the
// flags of the messages on the way.
func (t *tree) addPath(p path, v value, slice bool) (at int, flags []int, err error) {
	m := t.root
	for _, f := range p[:len(p)-1] {
		m = t.addMessage(m, f.Number)
		if m == nil {
			return 0, nil, fmt.Errorf("the number %d of %s has two meanings", f.Number, p)
		}
		flags = append(flags, m.flag)
	}
	number := p.last().Number
	if known := m.find(number); known != nil {
		if known.inner != nil || known.key != v.key || known.slice != slice {
			return 0, nil, fmt.Errorf("%s is named with two kinds", p)
		}
		return known.slot, flags, nil
	}
	m.fields = append(m.fields, messageField{number: number, slot: t.slots, slice: slice, value: v})
	t.slots++
	return t.slots - 1, flags, nil
}

// addMessage returns the nested message with that number, nil if it is a value.
func (t *tree) addMessage(m *message, number int32) *message {
	if known := m.find(number); known != nil {
		return known.inner
	}
	inner := &message{flag: t.messages}
	t.messages++
	m.fields = append(m.fields, messageField{number: number, inner: inner})
	return inner
}

// newComponent has the values at the end of a path kept that the index calls m.
func (t *tree) newComponent(p path, m mark) (c component, err error) {
	v, err := p.value(m)
	if err != nil {
		return c, err
	}
	nulls, err := p.nulls(m.null)
	if err != nil {
		return c, err
	}
	at, flags, err := t.addPath(p, v, m.slice)
	c = component{slot: at, null: nulls[len(p)-1], slice: m.slice, zero: v.absent(p.last())}
	for i, flag := range flags {
		if nulls[i] {
			c.messages = append(c.messages, flag)
		}
	}
	return c, err
}
