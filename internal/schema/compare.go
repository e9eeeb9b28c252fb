// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strconv"
)

// Coexistence returns why a program must not use a store: the differences
// between the type in the store's header and in the program. There is none if
// one was made from the other by allowed changes, or both from a third: fields
// that only one of them has are no difference, whichever is the older.
func Coexistence(store, program *Schema) []Difference {
	c := newComparison(store, program, false)
	c.types(store.root(), program.root())
	return c.list
}

// Succession returns what changed of a type between an old lock and a new one,
// but for scattering and indexes. Differences that are Allowed are such that
// the new lock says so; with all others, programs made with the new lock must
// not be given the data of those made with the old one.
func Succession(was, now *Schema, name string) []Difference {
	c := newComparison(was, now, true)
	there, here := was.Block(name), now.Block(name)
	switch {
	case there == nil || !there.IsType:
	case here == nil:
		c.list = append(c.list, Difference{What: Forgotten, There: "the type " + name, ThereBlock: there})
	default:
		c.types(there, here)
	}
	return c.list
}

// pair are the forms of one message.
type pair struct{ there, here *Block }

// comparison walks two schemas side by side.
type comparison struct {
	there, here *Schema
	succession  bool // here is made from there, not the other way round
	seen        map[pair]bool
	list        []Difference
}

func newComparison(there, here *Schema, succession bool) *comparison {
	return &comparison{there, here, succession, map[pair]bool{}, nil}
}

// types compares the blocks of two types.
func (c *comparison) types(there, here *Block) {
	p := pair{there, here}
	c.attribute(Origin, p, there.Origin, here.Origin)
	c.attribute(Directory, p, there.Directory, here.Directory)
	c.attribute(ID, p, there.ID, here.ID)
	c.messages("", p)
}

// attribute compares what blocks of types say of the type as a whole. An old
// lock may lack it.
func (c *comparison) attribute(what What, p pair, there, here string) {
	if there == here || c.succession && there == "" {
		return
	}
	c.list = append(c.list, Difference{What: what, There: there, Here: here, ThereBlock: p.there, HereBlock: p.here})
}

// messages compares the fields of two messages, once.
func (c *comparison) messages(path string, p pair) {
	if p.there == nil || p.here == nil || c.seen[p] {
		return
	}
	c.seen[p] = true
	for _, f := range p.here.Fields {
		if was := p.there.ByNumber(f.Number); was != nil {
			c.fields(join(path, f.Name), p, was, f)
		} else if was := p.there.Field(f.Name); was != nil {
			c.add(FieldNumber, join(path, f.Name), p, was, f, strconv.Itoa(int(was.Number)), strconv.Itoa(int(f.Number)))
		}
	}
	if c.succession {
		c.forgotten(path, p)
		c.moved(path, p)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (c *comparison) add(what What, path string, p pair, was, now *Field, there, here string) {
	d := Difference{
		What: what, Path: path, There: there, Here: here,
		ThereBlock: p.there, HereBlock: p.here, ThereField: was, HereField: now,
	}
	if was != nil {
		d.Number = was.Number
	}
	c.list = append(c.list, d)
}

// fields compares two fields of one number.
func (c *comparison) fields(path string, p pair, was, now *Field) {
	if was.Name != now.Name {
		c.add(FieldName, path, p, was, now, was.Name, now.Name)
		return
	}
	if p.there.ID != p.here.ID && was.Number == MinNumber {
		return // the kind of the id was reported
	}
	if !sameKind(was.Kind, now.Kind) && !c.kinds(path, p, was, now) {
		return
	}
	inner := pair{c.there.Message(was), c.here.Message(now)}
	if c.succession {
		c.replaced(path, p, inner, was, now)
	}
	c.messages(path, inner)
}

// kinds reports a change of a field's kind, and whether it is allowed: here's
// programs know of the kind there or, where here may be the older, there's know
// of that here.
func (c *comparison) kinds(path string, p pair, was, now *Field) bool {
	consequences, possible := change(was.Kind, now.Kind)
	allowed := possible && now.was(was.Kind)
	if !allowed && !c.succession {
		_, possible := change(now.Kind, was.Kind)
		allowed = possible && was.was(now.Kind)
	}
	if !allowed || c.succession {
		c.add(FieldKind, path, p, was, now, was.Kind, now.Kind)
		d := &c.list[len(c.list)-1]
		d.Allowed, d.Consequences = allowed, consequences
	}
	return allowed
}

// forgotten reports the numbers that here lacks altogether.
func (c *comparison) forgotten(path string, p pair) {
	for _, f := range p.there.Fields {
		if p.here.ByNumber(f.Number) == nil && p.here.Field(f.Name) == nil {
			c.add(Forgotten, join(path, f.Name), p, f, nil, "the number "+strconv.Itoa(int(f.Number))+" ("+f.Name+")", "")
		}
	}
}

// replaced reports that a field's nested struct has another name and lacks what
// the old one had: it is probably another struct, in whose form the stored
// values would be read as zero.
func (c *comparison) replaced(path string, p, inner pair, was, now *Field) {
	if inner.there == nil || inner.here == nil || inner.there.Name == inner.here.Name || was.Reserved || now.Reserved {
		return
	}
	kept := true
	for _, f := range inner.there.Fields {
		other := inner.here.Field(f.Name)
		kept = kept && (f.Reserved || other != nil && !other.Reserved)
	}
	if said := slices.Contains(now.Was, was.Kind); !kept {
		c.add(Replaced, path, p, was, now, inner.there.Name, inner.here.Name)
		d := &c.list[len(c.list)-1]
		d.Allowed, d.Consequences = said, []string{"what the former struct held and the new one does not is left behind"}
	}
}

// moved reports fields that left a message for a struct nested in it, or the
// other way round: as different fields, they are read as zero.
func (c *comparison) moved(path string, p pair) {
	reported := map[*Field]bool{}
	for _, out := range p.there.Fields {
		for _, in := range p.here.Fields {
			if !left(out, p.here) || in.Reserved || p.there.Field(in.Name) != nil || reported[in] || reported[out] {
				continue
			}
			was, now := join(path, out.Name), join(path, in.Name)
			if c.there.single(out).holds(in) {
				c.add(Moved, now, p, out, in, was+"."+in.Name, now)
				reported[out] = true
			} else if c.here.single(in).holds(out) {
				c.add(Moved, now, p, out, in, was, now+"."+out.Name)
				reported[in] = true
			}
		}
	}
}

// single returns the message that a field holds, unless it holds several.
func (s *Schema) single(f *Field) *Block {
	if k, _ := ParseKind(f.Kind); k.Wrap != "" && k.Wrap != "*" {
		return nil
	}
	return s.Message(f)
}

// left reports whether a field is in use no more.
func left(f *Field, now *Block) bool {
	other := now.Field(f.Name)
	return !f.Reserved && (other == nil || other.Reserved)
}

// holds reports whether a message has such a field in use.
func (b *Block) holds(f *Field) bool {
	if b == nil {
		return false
	}
	own := b.Field(f.Name)
	return own != nil && !own.Reserved && sameKind(own.Kind, f.Kind)
}
