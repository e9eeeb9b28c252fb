// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/tuple"
)

// catalog is a store's header: what the directory holds of one type. It is
// written by the first write, and by what changes an index's state or adds to
// the schema. Its value is the packed tuple
//
//	(1, ((key name, layout, state), …), text of the schema)
type catalog struct {
	indexes []catalogIndex // by name
	schema  *schema.Schema // of all programs that wrote here; never changed in place
}

type catalogIndex struct {
	name, layout string
	state        index.State
}

// catalogFormat is the format of all keys and values of a store.
const catalogFormat = 1

func (c *catalog) encode() ([]byte, error) {
	indexes := tuple.Tuple{}
	for _, ix := range c.indexes {
		indexes = append(indexes, tuple.Tuple{ix.name, ix.layout, int64(ix.state)})
	}
	return tuple.Tuple{int64(catalogFormat), indexes, c.schema.Text()}.Pack()
}

func decodeCatalog(value []byte) (*catalog, error) {
	format, _, err := tuple.ReadInt(value)
	if err != nil {
		return nil, &headerError{"the store's header is damaged", remedyCorrupt}
	}
	if format > catalogFormat {
		return nil, &headerError{"the store: " + fmt.Sprintf(reasonNewerFormat, format, catalogFormat), remedyNewer}
	}
	t, err := tuple.Unpack(value)
	c := &catalog{}
	if err == nil && format == catalogFormat && len(t) == 3 && c.readIndexes(t[1]) && c.readSchema(t[2]) {
		return c, nil
	}
	return nil, &headerError{"the store's header is damaged", remedyCorrupt}
}

func (c *catalog) readIndexes(element any) bool {
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

func (c *catalog) readIndex(element any) bool {
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

func (c *catalog) readSchema(element any) bool {
	text, ok := element.(string)
	if !ok {
		return false
	}
	var err error
	c.schema, err = schema.ParseType(text)
	return err == nil
}

// scatter is over how many shards the records are scattered. It never changes.
func (c *catalog) scatter() index.Shards { return index.Shards(c.schema.Type().Scatter) }

// newCatalog is the header of a store without records: every index is complete.
func newCatalog(p *place) *catalog {
	c := &catalog{schema: p.lock.Scattered(int(p.scatter))}
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

// addSchema adds what the program's schema has and the header lacks. It never
// takes anything away, so that programs of different age do not undo each other's
// writes.
func (c *catalog) addSchema(program *schema.Schema) (changed bool) {
	c.schema, changed = schema.Union(c.schema, program)
	return changed
}

// clone returns a copy that may be changed.
func (c *catalog) clone() *catalog {
	return &catalog{slices.Clone(c.indexes), c.schema}
}

func (c *catalog) equal(o *catalog) bool {
	a, _ := c.encode()
	b, _ := o.encode()
	return bytes.Equal(a, b)
}
