// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// catalog is a store's header: what the directory holds of one type. It is
// written by the first write, and by what changes an index's state. Its value
// is the packed tuple
//
//	(1, ((key name, layout, state), …), ((number, name, kind), …))
//	(2, ((key name, layout, state), …), ((number, name, kind), …), shards)
//
// The second form is that of scattered records: a program that knows only the
// first would look for them in the wrong places.
type catalog struct {
	indexes []catalogIndex // by name
	fields  []FieldInfo    // by number
	scatter index.Shards   // of the records; never changes
}

type catalogIndex struct {
	name, layout string
	state        index.State
}

// The formats of all keys and values of a store.
const (
	catalogFormat   = 1
	scatteredFormat = 2
	newestFormat    = scatteredFormat
)

func (c *catalog) encode() ([]byte, error) {
	indexes, fields := tuple.Tuple{}, tuple.Tuple{}
	for _, ix := range c.indexes {
		indexes = append(indexes, tuple.Tuple{ix.name, ix.layout, int64(ix.state)})
	}
	for _, f := range c.fields {
		fields = append(fields, tuple.Tuple{int64(f.Number), f.Name, f.Kind})
	}
	if c.scatter == 0 {
		return tuple.Tuple{int64(catalogFormat), indexes, fields}.Pack()
	}
	return tuple.Tuple{int64(scatteredFormat), indexes, fields, int64(c.scatter)}.Pack()
}

func decodeCatalog(value []byte) (*catalog, error) {
	format, _, err := tuple.ReadInt(value)
	if err != nil {
		return nil, &headerError{"the store's header is damaged", remedyCorrupt}
	}
	if format > newestFormat {
		return nil, &headerError{"the store: " + fmt.Sprintf(reasonNewerFormat, format, newestFormat), remedyNewer}
	}
	t, err := tuple.Unpack(value)
	c := &catalog{}
	if err == nil && format >= catalogFormat && int64(len(t)) == 2+format && c.readIndexes(t[1]) && c.readFields(t[2]) && c.readScatter(t[3:]) {
		return c, nil
	}
	return nil, &headerError{"the store's header is damaged", remedyCorrupt}
}

func (c *catalog) readIndexes(element any) bool {
	return eachTriple(element, func(t tuple.Tuple) bool {
		name, ok1 := t[0].(string)
		layout, ok2 := t[1].(string)
		state, ok3 := t[2].(int64)
		c.indexes = append(c.indexes, catalogIndex{name, layout, index.State(state)})
		return ok1 && ok2 && ok3 && state >= 0 && state <= int64(index.Readable)
	})
}

func (c *catalog) readFields(element any) bool {
	return eachTriple(element, func(t tuple.Tuple) bool {
		number, ok1 := t[0].(int64)
		name, ok2 := t[1].(string)
		kind, ok3 := t[2].(string)
		c.fields = append(c.fields, FieldInfo{name, int32(number), kind})
		return ok1 && ok2 && ok3
	})
}

func (c *catalog) readScatter(rest tuple.Tuple) bool {
	if len(rest) == 0 {
		return true
	}
	shards, ok := rest[0].(int64)
	c.scatter = index.Shards(shards)
	return ok && shards != 0 && c.scatter.Validate() == nil
}

func eachTriple(element any, read func(tuple.Tuple) bool) bool {
	list, ok := element.(tuple.Tuple)
	if !ok {
		return false
	}
	for _, e := range list {
		t, ok := e.(tuple.Tuple)
		if !ok || len(t) != 3 || !read(t) {
			return false
		}
	}
	return true
}

// newCatalog is the header of a store without records: every index is complete.
func newCatalog(p *place) *catalog {
	c := &catalog{scatter: p.scatter}
	c.addFields(p.fields)
	for _, d := range p.definitions {
		c.setState(d, index.Readable)
	}
	return c
}

// state returns the state of an index. One that the store has in another layout
// is as good as disabled.
func (c *catalog) state(d *index.Definition) index.State {
	for _, ix := range c.indexes {
		if ix.name == d.KeyName() && ix.layout == d.Layout() {
			return ix.state
		}
	}
	return index.Disabled
}

func (c *catalog) setState(d *index.Definition, s index.State) {
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

// disableOthers disables the indexes that the definitions do not have: writes
// will not maintain them. It reports whether that changes anything.
//
// So an older program, which does not know a new index, never leaves wrong
// entries behind that a newer one trusts; and an index that was dropped is not
// trusted when it comes back.
func (c *catalog) disableOthers(definitions []*index.Definition) (changed bool) {
	for i := range c.indexes {
		ix := &c.indexes[i]
		known := slices.ContainsFunc(definitions, func(d *index.Definition) bool {
			return d.KeyName() == ix.name && d.Layout() == ix.layout
		})
		if !known && ix.state != index.Disabled {
			ix.state, changed = index.Disabled, true
		}
	}
	return changed
}

// addFields adds the fields whose numbers the header lacks. It never takes one
// away, so that programs of different age do not undo each other's writes.
func (c *catalog) addFields(fields []FieldInfo) (changed bool) {
	for _, f := range fields {
		at, found := slices.BinarySearchFunc(c.fields, f.Number, func(g FieldInfo, n int32) int { return cmp.Compare(g.Number, n) })
		if !found {
			c.fields, changed = slices.Insert(c.fields, at, f), true
		}
	}
	return changed
}

// clone returns a copy that may be changed.
func (c *catalog) clone() *catalog {
	return &catalog{slices.Clone(c.indexes), slices.Clone(c.fields), c.scatter}
}

func (c *catalog) equal(o *catalog) bool {
	a, _ := c.encode()
	b, _ := o.encode()
	return bytes.Equal(a, b)
}
