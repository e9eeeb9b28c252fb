// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Coexistence returns why a program must not use a store: the differences
// between the type in the store's header and in the program. There is none if
// one was made from the other by allowed changes, or both from a third: fields
// that only one of them has are not a difference, whichever is the older.
func Coexistence(store, program *Schema) []Difference {
	c := newComparison(store, program, false)
	c.compareTypes(store.Type(), program.Type())
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
		c.list = append(c.list, Difference{Aspect: Forgotten, There: "the type " + name, ThereBlock: there})
	case here.Removed && !here.Confirmed && !there.Removed:
		c.list = append(c.list, Difference{Aspect: Removed, There: "the type " + name, ThereBlock: there, HereBlock: here})
	default:
		c.compareTypes(there, here)
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
	left        map[pair]bool     // messages of which something is left behind, which was said
	enums       map[[2]*Enum]bool // those that were compared
	list        []Difference
}

func newComparison(there, here *Schema, succession bool) *comparison {
	return &comparison{there: there, here: here, succession: succession, seen: map[pair]bool{}, left: map[pair]bool{}, enums: map[[2]*Enum]bool{}}
}

// compareTypes compares the blocks of two types.
func (c *comparison) compareTypes(there, here *Block) {
	p := pair{there, here}
	c.compareAttribute(Origin, p, there.Origin, here.Origin)
	c.compareAttribute(Directory, p, there.Directory, here.Directory)
	c.compareAttribute(ID, p, there.ID, here.ID)
	c.compareMessages("", p)
}

// compareAttribute compares what blocks of types say of the type as a whole. An old
// lock may lack it.
func (c *comparison) compareAttribute(aspect Aspect, p pair, there, here string) {
	if there == here || c.succession && there == "" {
		return
	}
	c.list = append(c.list, Difference{Aspect: aspect, There: there, Here: here, ThereBlock: p.there, HereBlock: p.here})
}

// compareMessages compares the fields of two messages, once.
func (c *comparison) compareMessages(path string, p pair) {
	if p.there == nil || p.here == nil || c.seen[p] {
		return
	}
	c.seen[p] = true
	for _, f := range p.here.Fields {
		if was := p.there.ByNumber(f.Number); was != nil {
			c.compareFields(joinPath(path, f.Name), p, was, f)
		} else if was := p.there.Field(f.Name); was != nil {
			c.addDifference(FieldNumber, joinPath(path, f.Name), p, was, f, strconv.Itoa(int(was.Number)), strconv.Itoa(int(f.Number)))
		}
	}
	if c.succession {
		c.reportForgotten(path, p)
		c.reportRemoved(path, p, c.reportMoved(path, p))
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (c *comparison) addDifference(aspect Aspect, path string, p pair, was, now *Field, there, here string) {
	d := Difference{
		Aspect: aspect, Path: path, There: there, Here: here,
		ThereBlock: p.there, HereBlock: p.here, ThereField: was, HereField: now,
	}
	if was != nil {
		d.Number = was.Number
	}
	c.list = append(c.list, d)
}

// compareFields compares two fields of one number.
func (c *comparison) compareFields(path string, p pair, was, now *Field) {
	if was.Name != now.Name {
		c.addDifference(FieldName, path, p, was, now, was.Name, now.Name)
		return
	}
	if p.there.ID != p.here.ID && was.Number == MinNumber {
		return // the kind of the id was reported
	}
	if !sameKind(was.Kind, now.Kind) && !c.compareKinds(path, p, was, now) {
		return
	}
	if was.Default != now.Default {
		c.addDifference(FieldDefault, path, p, was, now, cmp.Or(was.Default, "zero"), cmp.Or(now.Default, "zero"))
	}
	inner := pair{c.there.Message(was), c.here.Message(now)}
	c.compareEnums(path, p, was, now)
	if c.succession {
		c.reportReplaced(path, p, inner, was, now)
	}
	c.compareMessages(path, inner)
}

// compareKinds reports a change of a field's kind, and whether it is allowed: here's
// programs know of the kind there or, where here may be the older, there's know
// of that here.
func (c *comparison) compareKinds(path string, p pair, was, now *Field) bool {
	consequences, possible := changeOf(was.Kind, now.Kind)
	allowed := possible && now.hadKind(was.Kind)
	if !allowed && !c.succession {
		_, possible := changeOf(now.Kind, was.Kind)
		allowed = possible && was.hadKind(now.Kind)
	}
	if !allowed || c.succession {
		c.addDifference(FieldKind, path, p, was, now, was.Kind, now.Kind)
		d := &c.list[len(c.list)-1]
		d.Allowed, d.Consequences = allowed, consequences
	}
	return allowed
}

// reportForgotten reports the numbers that here lacks altogether.
func (c *comparison) reportForgotten(path string, p pair) {
	for _, f := range p.there.Fields {
		if p.here.ByNumber(f.Number) == nil && p.here.Field(f.Name) == nil {
			c.addDifference(Forgotten, joinPath(path, f.Name), p, f, nil, "the number "+strconv.Itoa(int(f.Number))+" ("+f.Name+")", "")
		}
	}
}

// reportReplaced reports that a field's nested struct has another name and lacks what
// the old one had: it is probably another struct, in the form of which the stored
// values would be read as zero.
func (c *comparison) reportReplaced(path string, p, inner pair, was, now *Field) {
	if inner.there == nil || inner.here == nil || inner.there.Name == inner.here.Name || was.Reserved || now.Reserved {
		return
	}
	kept := true
	for _, f := range inner.there.Fields {
		other := inner.here.Field(f.Name)
		kept = kept && (f.Reserved || other != nil && !other.Reserved)
	}
	if said := slices.Contains(now.Was, was.Kind); !kept {
		c.left[inner] = true
		c.addDifference(Replaced, path, p, was, now, inner.there.Name, inner.here.Name)
		d := &c.list[len(c.list)-1]
		d.Allowed, d.Consequences = said, []string{"what the former struct held and the new one does not is left behind"}
	}
}

// reportMoved reports fields that left a message for a struct nested in it, or the
// other way round: as different fields, they are read as zero. It returns them.
func (c *comparison) reportMoved(path string, p pair) (moved map[*Field]bool) {
	reported := map[*Field]bool{}
	moved = map[*Field]bool{}
	for _, out := range p.there.Fields {
		for _, in := range p.here.Fields {
			if !isDropped(out, p.here) || in.Reserved || p.there.Field(in.Name) != nil {
				continue
			}
			unnested, nested := c.there.singleMessage(out).hasInUse(in), c.here.singleMessage(in).hasInUse(out)
			moved[out] = moved[out] || unnested || nested
			was, now := joinPath(path, out.Name), joinPath(path, in.Name)
			switch {
			case reported[in] || reported[out]:
			case unnested:
				c.addDifference(Moved, now, p, out, in, was+"."+in.Name, now)
				reported[out] = true
			case nested:
				c.addDifference(Moved, now, p, out, in, was, now+"."+out.Name)
				reported[in] = true
			}
		}
	}
	return moved
}

// reportRemoved reports the fields that left the source, except those that moved, and
// those that here confirms as removed: they may have been renamed.
func (c *comparison) reportRemoved(path string, p pair, moved map[*Field]bool) {
	for _, f := range p.there.Fields {
		now := p.here.ByNumber(f.Number)
		if f.Reserved || now == nil || !now.Reserved || now.Confirmed || moved[f] || c.left[p] {
			continue
		}
		c.addDifference(Removed, joinPath(path, f.Name), p, f, now, "the field "+joinPath(path, f.Name), "")
	}
}

// isDropped reports whether a field is in use no more.
func isDropped(f *Field, now *Block) bool {
	other := now.Field(f.Name)
	return !f.Reserved && (other == nil || other.Reserved)
}

// compareEnums compares the constants of two fields' types, once for each two types.
func (c *comparison) compareEnums(path string, p pair, was, now *Field) {
	for i := range min(len(was.Enums), len(now.Enums)) {
		both := [2]*Enum{c.there.Enum(was.Enums[i]), c.here.Enum(now.Enums[i])}
		if both[0] == nil || both[1] == nil || c.enums[both] {
			continue
		}
		c.enums[both] = true
		for _, old := range both[0].Constants {
			aspect, other := successorOf(old, both[0], both[1])
			if other != nil && !c.succession && isKnown(other, both) {
				continue // there is the newer one
			}
			if other != nil {
				c.addDifference(aspect, path, p, was, now, old.Name+" = "+old.Value, other.Name+" = "+other.Value)
				d := &c.list[len(c.list)-1]
				d.ThereConstant, d.HereConstant = old, other
			} else if c.succession && now.Named {
				c.reportNameless(path, p, was, now, old, both[1])
			}
		}
	}
}

// isKnown reports whether the second enumeration's constant keeps its meaning in the first.
func isKnown(c *Constant, both [2]*Enum) bool {
	_, other := successorOf(c, both[1], both[0])
	return other == nil
}

// reportNameless reports a constant that left the source, unless here confirms that:
// tools have shown its name.
func (c *comparison) reportNameless(path string, p pair, was, now *Field, old *Constant, here *Enum) {
	if gone := here.Constant(old.Name); gone != nil && gone.Gone && !gone.Any && !gone.Confirmed && !here.hasName(old.Value) {
		c.addDifference(Nameless, path, p, was, now, "the constant "+old.Name+" = "+old.Value, "")
		d := &c.list[len(c.list)-1]
		d.ThereConstant, d.HereConstant = old, gone
	}
}

// Aspect is what a difference is about.
type Aspect int

// The differences. Those of the second group are of successions only, but for
// Renumbered and Reused.
const (
	Origin       Aspect = iota // another type, of another Go package
	Directory                  // the same path would mean other records
	ID                         // records would be under other keys
	FieldName                  // one number, two names
	FieldNumber                // one name, two numbers
	FieldKind                  // a kind that does not follow from the other
	FieldDefault               // records without the field would have another value

	Forgotten  // a type or number that the old text has and the new one lacks
	Moved      // a field moved into a nested struct, or out of one
	Replaced   // a nested struct is another one
	Removed    // a type or a field left the source, and the new text does not confirm that
	Renumbered // a constant of an enumeration has another value
	Reused     // a value of an enumeration belongs to another constant
	Nameless   // a constant of an enumeration that tools show left the source, and the new text does not confirm that
)

// Difference is a change between two schemas of a type, There and Here: of a
// store and a program, or of an old lock and a new one.
type Difference struct {
	Aspect      Aspect
	Allowed     bool   // and said so: only its consequences are to be told
	Path        string // the names of the fields that lead there; "" for the type
	Number      int32  // of the last field of the path; 0 if that is not meant
	There, Here string // what each has: names, numbers, kinds, by Aspect

	// Of FieldKind: what becomes of stored values. If it is not empty then the
	// change is allowed where Here's field says was=There.
	Consequences []string

	ThereBlock, HereBlock *Block // of the field, or the type; nil if one has none
	ThereField, HereField *Field // nil if one has none

	ThereConstant, HereConstant *Constant // of Renumbered, Reused and Nameless
}

// Text says what differs, with words for the two sides: "the store", "this
// program".
func (d *Difference) Text(there, here string) string {
	switch d.Aspect {
	case Origin:
		return fmt.Sprintf("it belongs to the package %s in %s, and to %s in %s", d.There, there, d.Here, here)
	case Directory:
		return fmt.Sprintf("its directory is %s in %s, and %s in %s", d.There, there, d.Here, here)
	case ID:
		return fmt.Sprintf("the kind of its id is %s in %s, and %s in %s", d.There, there, d.Here, here)
	case FieldName:
		return fmt.Sprintf("the number %d%s is the field %s in %s, and %s in %s", d.Number, d.within(), d.There, there, d.Here, here)
	case FieldNumber:
		return fmt.Sprintf("the field %s has the number %s in %s, and %s in %s", d.Path, d.There, there, d.Here, here)
	case FieldKind:
		return fmt.Sprintf("the field %s (%d) is %s in %s, and %s in %s", d.Path, d.Number, d.There, there, d.Here, here)
	case FieldDefault:
		return fmt.Sprintf("the default of the field %s (%d) is %s in %s, and %s in %s", d.Path, d.Number, d.There, there, d.Here, here)
	case Forgotten:
		return fmt.Sprintf("%s%s is in %s, and neither in use nor reserved in %s", d.There, d.within(), there, here)
	case Moved:
		return fmt.Sprintf("the field %s of %s is %s in %s", d.There, there, d.Here, here)
	case Removed, Nameless:
		return fmt.Sprintf("%s is in use in %s, and not in %s", d.There, there, here)
	case Renumbered, Reused:
		return fmt.Sprintf("the field %s has the constant %s in %s, and %s in %s", d.Path, d.There, there, d.Here, here)
	default:
		return fmt.Sprintf("the field %s holds the struct %s in %s, and %s in %s", d.Path, d.There, there, d.Here, here)
	}
}

// within names the field of the message that has the difference.
func (d *Difference) within() string {
	if at := strings.LastIndexByte(d.Path, '.'); at > 0 {
		return " of " + d.Path[:at]
	}
	return ""
}
