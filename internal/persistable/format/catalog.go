// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/tuple"
)

// Catalog is a store's header: what the directory holds of one type. The first
// write makes it; a change of an index's state and a write by a program that adds
// to the schema change it. Its value is the packed tuple
//
//	(1, ((key name, layout, state), …), text of the schema)
//
// If the schema says what it needs of programs, the value is of format 2:
//
//	(2, first version that knows the format, ((key name, layout, state), …), text of the schema)
type Catalog struct {
	indexes []catalogIndex // by name
	schema  *schema.Schema // of all programs that wrote here; never changed in place
}

type catalogIndex struct {
	name, layout string
	state        index.State
}

// NewCatalog returns the header of a store without records, scattered over so many
// shards: every index is complete.
func NewCatalog(program *schema.Schema, scatter index.Shards, indexes []*index.Definition) *Catalog {
	c := &Catalog{schema: program.Scattered(int(scatter))}
	for _, d := range indexes {
		c.SetState(d, index.Readable)
	}
	return c
}

// The formats of headers.
const (
	catalogFormat = 1
	needsFormat   = 2
	needsSince    = "v0.1.0" // the version that brought format 2
)

// CheckWritable returns an *[Error] that is [newer.Err] if the store needs what this program
// does not know, so that it may read there and must not write.
func (c *Catalog) CheckWritable() error {
	return newerError("nothing was written: the store: ", newer.CheckWrite(c.schema.Needs))
}

// Encode returns the value of the header. It fails as [Catalog.CheckWritable] does: the
// header would lack what this program does not know.
func (c *Catalog) Encode() ([]byte, error) {
	if err := c.CheckWritable(); err != nil {
		return nil, err
	}
	return c.encode()
}

func (c *Catalog) encode() ([]byte, error) {
	head := tuple.Tuple{int64(catalogFormat)}
	if len(c.schema.Needs) > 0 {
		head = tuple.Tuple{int64(needsFormat), needsSince}
	}
	indexes := tuple.Tuple{}
	for _, ix := range c.indexes {
		indexes = append(indexes, tuple.Tuple{ix.name, ix.layout, int64(ix.state)})
	}
	return append(head, indexes, c.schema.Text()).Pack()
}

// DecodeCatalog reads the value of a header. It returns an *[Error] if the value is
// damaged or of a newer format.
func DecodeCatalog(value []byte) (*Catalog, error) {
	_, err := newer.ReadFormat(value, needsFormat)
	if errors.Is(err, newer.Err) {
		return nil, newerError("the store: ", err)
	}
	t, broken := tuple.Unpack(value)
	if err != nil || broken != nil {
		return nil, corrupt("the store's header is damaged")
	}
	if t[0] == int64(needsFormat) && len(t) > 1 {
		t = t[1:]
	}
	c := &Catalog{}
	if len(t) != 3 || !c.readIndexes(t[1]) {
		return nil, corrupt("the store's header is damaged")
	}
	err = c.readSchema(t[2])
	switch {
	case errors.Is(err, newer.Err):
		return nil, newerError("the store: ", err)
	case err != nil:
		return nil, corrupt("the store's header is damaged: its schema cannot be read: " + err.Error())
	}
	return c, nil
}

func (c *Catalog) readIndexes(element any) bool {
	list, ok := element.(tuple.Tuple)
	if !ok {
		return false
	}
	for _, e := range list {
		if !c.readIndex(e) {
			return false
		}
	}
	return true
}

func (c *Catalog) readIndex(element any) bool {
	t, ok := element.(tuple.Tuple)
	if !ok || len(t) != 3 {
		return false
	}
	name, ok1 := t[0].(string)
	layout, ok2 := t[1].(string)
	state, ok3 := t[2].(int64)
	c.indexes = append(c.indexes, catalogIndex{name, layout, index.State(state)})
	return ok1 && ok2 && ok3 && state >= 0 && state <= int64(index.Readable)
}

func (c *Catalog) readSchema(element any) (err error) {
	text, ok := element.(string)
	if !ok {
		return errors.New("it is not text")
	}
	c.schema, err = schema.ParseType(text)
	return err
}

// Scatter returns over how many shards the records are scattered. It never changes.
func (c *Catalog) Scatter() index.Shards { return index.Shards(c.schema.Type().Scatter) }

// State returns the state of an index: [index.Disabled] if the store does not have
// it, or has it in another layout.
func (c *Catalog) State(d *index.Definition) index.State {
	for _, ix := range c.indexes {
		if ix.name == d.KeyName() && ix.layout == d.Layout() {
			return ix.state
		}
	}
	return index.Disabled
}

// SetState sets the state of an index, and adds the index if it is missing. If that ends
// a readable index, or changes its layout, the index that recounts it is removed.
func (c *Catalog) SetState(d *index.Definition, s index.State) {
	if s != index.Readable || c.State(d) != index.Readable {
		c.RemoveRecount(d)
	}
	entry := catalogIndex{d.KeyName(), d.Layout(), s}
	at, found := slices.BinarySearchFunc(c.indexes, entry.name, func(ix catalogIndex, name string) int {
		return cmp.Compare(ix.name, name)
	})
	if found {
		c.indexes[at] = entry
		return
	}
	c.indexes = slices.Insert(c.indexes, at, entry)
}

// AddSchema adds what the program's schema has and the header lacks. It never
// takes anything away, so that programs of different age do not undo each other's
// writes.
func (c *Catalog) AddSchema(program *schema.Schema) (changed bool) {
	c.schema, changed = schema.Union(c.schema, program)
	return changed
}

// Clone returns a copy that may be changed.
func (c *Catalog) Clone() *Catalog {
	return &Catalog{slices.Clone(c.indexes), c.schema}
}

// Equal reports whether two headers have the same value.
func (c *Catalog) Equal(o *Catalog) bool {
	a, _ := c.encode()
	b, _ := o.encode()
	return bytes.Equal(a, b)
}

// Remove removes the index with that name in keys and its recount, and returns their
// names; none if the store does not have it.
func (c *Catalog) Remove(keyName string) (names []string) {
	c.indexes = slices.DeleteFunc(c.indexes, func(ix catalogIndex) bool {
		of, recounts := index.CutRecount(ix.name)
		found := ix.name == keyName || recounts && of == keyName
		if found {
			names = append(names, ix.name)
		}
		return found
	})
	return names
}

// RemoveUnused removes the indexes that the definitions do not name, in whatever
// layout, and returns their names in keys.
func (c *Catalog) RemoveUnused(definitions []*index.Definition) (names []string) {
	c.indexes = slices.DeleteFunc(c.indexes, func(ix catalogIndex) bool {
		used := slices.ContainsFunc(definitions, func(d *index.Definition) bool { return d.KeyName() == ix.name })
		if !used {
			names = append(names, ix.name)
		}
		return !used
	})
	return names
}

// Schema returns the schema of all programs that wrote to the store. It must not
// be changed.
func (c *Catalog) Schema() *schema.Schema { return c.schema }

// ForeignIndex is an index that a program does not have.
type ForeignIndex struct {
	KeyName, Layout string
	State           index.State
}

// Foreign returns the indexes that the definitions do not have with the same layout.
func (c *Catalog) Foreign(definitions []*index.Definition) (all []ForeignIndex) {
	for _, ix := range c.indexes {
		known := slices.ContainsFunc(definitions, func(d *index.Definition) bool {
			return d.KeyName() == ix.name && d.Layout() == ix.layout
		})
		if !known {
			all = append(all, ForeignIndex{ix.name, ix.layout, ix.state})
		}
	}
	return all
}

// Layouts yields the names in keys and the layouts of all indexes that the store has,
// in the order of their names.
func (c *Catalog) Layouts() iter.Seq2[string, string] {
	return func(yield func(name, layout string) bool) {
		for _, ix := range c.indexes {
			if !yield(ix.name, ix.layout) {
				return
			}
		}
	}
}

// Describes reports whether the two headers describe the same: schema and indexes, in
// whatever states, but for recounts.
func (c *Catalog) Describes(o *Catalog) bool {
	same := func(a, b IndexEntry) bool { return a.KeyName == b.KeyName && a.Layout == b.Layout }
	return c.schema.Text() == o.schema.Text() && slices.EqualFunc(c.Indexes(), o.Indexes(), same)
}

// IndexEntry is what a header says of an index.
type IndexEntry struct {
	KeyName, Layout string
	State           index.State
}

// Indexes returns what the header says of indexes but recounts, in the order of their
// names.
func (c *Catalog) Indexes() (all []IndexEntry) {
	for _, ix := range c.indexes {
		if _, recounts := index.CutRecount(ix.name); !recounts {
			all = append(all, IndexEntry{ix.name, ix.layout, ix.state})
		}
	}
	return all
}

// All returns what the header says of all indexes, recounts included, in the order of
// their names.
func (c *Catalog) All() (all []IndexEntry) {
	for _, ix := range c.indexes {
		all = append(all, IndexEntry{ix.name, ix.layout, ix.state})
	}
	return all
}

// A recount is an index that counts anew what a readable index of the kinds count or sum
// counts (see [index.Definition.Recount]). It is there only while the other one is
// readable in the same layout: so a program that maintains the one can maintain the other.

// AddRecount adds the recount of an index in the state disabled, if the index is readable
// and has none.
func (c *Catalog) AddRecount(d *index.Definition) {
	r := d.Recount()
	has := slices.ContainsFunc(c.indexes, func(ix catalogIndex) bool { return ix.name == r.KeyName() })
	if c.State(d) == index.Readable && !has {
		c.SetState(r, index.Disabled)
	}
}

// RemoveRecount removes the recount of an index, if there is one.
func (c *Catalog) RemoveRecount(d *index.Definition) {
	name := d.Recount().KeyName()
	c.indexes = slices.DeleteFunc(c.indexes, func(ix catalogIndex) bool { return ix.name == name })
}

// LostRecounts returns the names in keys of the recounts that c has and next has not.
func (c *Catalog) LostRecounts(next *Catalog) (names []string) {
	for _, ix := range c.indexes {
		_, recounts := index.CutRecount(ix.name)
		if recounts && !slices.ContainsFunc(next.indexes, func(o catalogIndex) bool { return o.name == ix.name }) {
			names = append(names, ix.name)
		}
	}
	return names
}

// Former is a header that another has replaced. Its value is the packed tuple
//
//	(1, milliseconds since 1970 at which it was replaced, the header's value)
type Former struct {
	Until   time.Time // by the clock of the process that replaced it
	Catalog *Catalog
}

// Encode returns the value of a former header.
func (f Former) Encode() ([]byte, error) {
	header, err := f.Catalog.Encode()
	if err != nil {
		return nil, err
	}
	return tuple.Tuple{int64(formerFormat), f.Until.UnixMilli(), header}.Pack()
}

const formerFormat = 1

// DecodeFormer reads the value of a former header. It returns an *[Error] if the value is
// damaged or of a newer format.
func DecodeFormer(value []byte) (f Former, err error) {
	_, err = newer.ReadFormat(value, formerFormat)
	if errors.Is(err, newer.Err) {
		return f, newerError("an entry of the schema's history: ", err)
	}
	if t, broken := tuple.Unpack(value); err == nil && broken == nil && len(t) == 3 {
		until, ok1 := t[1].(int64)
		header, ok2 := t[2].([]byte)
		if ok1 && ok2 {
			f.Until = time.UnixMilli(until)
			f.Catalog, err = DecodeCatalog(header)
			return f, err
		}
	}
	return f, corrupt("an entry of the schema's history is damaged")
}
