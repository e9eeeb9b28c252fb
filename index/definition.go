// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/tuple"
)

// Definition describes an index of one type. It never changes while a program
// runs; persistgen writes it.
type Definition struct {
	// Name is the index's name in keys, made by [Name]. It is unique in a type.
	Name string
	// Fields are the names of the fields whose values make up the key, in order.
	Fields []string
	// Unique tells that one key has one owner.
	Unique bool
	// Cover tells that entries hold a copy of the record, so that a query need
	// not fetch it.
	Cover bool
	// Sparse names the fields whose null, in a unique index, or empty slice, in any
	// index, keeps a record out of the index.
	Sparse []string
	// Signature names the kinds of the fields ("string,time"). Entries written
	// under another signature are never read: the index must be built again.
	Signature string
	// Scatter is over how many shards the entries are scattered by the id of
	// their record, whose shard then stands before the values; 0 for not at all.
	// A unique index cannot be: a lookup by values does not know the id.
	Scatter Shards
}

// Name returns the name of the index on fields of a type: all joined by an
// underscore. Underscores inside a name are doubled, so that different lists
// never have one name.
func Name(typ string, fields ...string) string {
	parts := []string{strings.ReplaceAll(typ, "_", "__")}
	for _, field := range fields {
		parts = append(parts, strings.ReplaceAll(field, "_", "__"))
	}
	return strings.Join(parts, "_")
}

// KeyName returns the name under which the entries are kept: a unique index's
// name ends in _unique.
func (d *Definition) KeyName() string {
	if d.Unique {
		return d.Name + "_unique"
	}
	return d.Name
}

// Layout describes everything that the bytes of the entries depend on. Two
// definitions with equal key names and layouts share entries.
func (d *Definition) Layout() string {
	layout := strings.Join(d.Fields, ",") + ":" + d.Signature
	if d.Cover {
		layout += ":cover"
	}
	if d.Scatter != 0 {
		layout += ":scatter=" + strconv.Itoa(int(d.Scatter))
	}
	return layout
}

// Validate reports all faults of the definition, joined.
func (d *Definition) Validate() error {
	var faults []error
	if d.Name == "" {
		faults = append(faults, errors.New("index: a definition without a name"))
	}
	if len(d.Fields) == 0 {
		faults = append(faults, fmt.Errorf("index: %s has no fields", d.Name))
	}
	if err := d.Scatter.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("index: %s: %w", d.Name, err))
	}
	if d.Unique && d.Scatter != 0 {
		faults = append(faults, fmt.Errorf("index: %s is unique and cannot be scattered", d.Name))
	}
	return errors.Join(faults...)
}

// AppendPrefix appends to a directory's prefix what all keys of the index
// begin with: the packed ("I", KeyName).
func (d *Definition) AppendPrefix(dst []byte) []byte {
	return tuple.AppendString(tuple.AppendString(dst, "I"), d.KeyName())
}

// Split cuts what follows the prefix of an entry's key into the packed values
// and the packed id, which is empty in a unique index. The shard, if the index
// is scattered, is left out.
func (d *Definition) Split(suffix []byte) (values, id []byte, err error) {
	_, suffix, err = d.Scatter.Cut(suffix)
	if err != nil {
		return nil, nil, fmt.Errorf("index: a key of %s: %w", d.KeyName(), err)
	}
	rest := suffix
	for range d.Fields {
		if rest, err = tuple.Skip(rest); err != nil {
			return nil, nil, fmt.Errorf("index: a key of %s: %w", d.KeyName(), err)
		}
	}
	values = suffix[:len(suffix)-len(rest)]
	if d.Unique != (len(rest) == 0) {
		return nil, nil, fmt.Errorf("index: a key of %s has %d bytes behind its values", d.KeyName(), len(rest))
	}
	return values, rest, nil
}
