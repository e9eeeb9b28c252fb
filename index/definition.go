// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/tuple"
)

// Definition describes an index of one type. It never changes while a program
// runs; persistgen writes it.
type Definition struct {
	// Name is the index's name in keys, made by [Name] or [Kind.Name]. It is unique
	// in a type.
	Name string
	// Kind is what the entries say; empty for an index of values.
	Kind Kind
	// Fields are the names of the fields whose values make up the key, in order. Of
	// the kinds Count and Sum they are the group and may be missing: then all records
	// are one group. Of the kind Rank they are the group, which may be missing, and
	// the field that orders. The kind Version has none.
	Fields []string
	// Of is the field whose values the kind Sum adds.
	Of string
	// Descending names those of Fields whose values are stored in descending order,
	// by [Descend].
	Descending []string
	// Unique tells that one key has one owner.
	Unique bool
	// Cover tells that entries hold a copy of the record, so that a query need
	// not fetch it.
	Cover bool
	// CoverFields names fields of which entries hold a copy, as a message with the
	// numbers that the fields have in the record.
	CoverFields []string
	// Where is the condition under which a record has entries at all, in its
	// canonical text; empty for none.
	Where string
	// Sparse names the fields whose null, in a unique index, or empty slice, in any
	// index, keeps a record out of the index.
	Sparse []string
	// Signature names the kinds of Fields, then of Of, then of CoverFields
	// ("string,time"). Entries written under another signature are never read: the
	// index must be built again.
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
	return Value.Name(typ, fields...)
}

const uniqueSuffix = "_unique"

// KeyName returns the name under which the entries are kept: a unique index's
// name ends in _unique.
func (d *Definition) KeyName() string {
	if d.Unique {
		return d.Name + uniqueSuffix
	}
	return d.Name
}

// IsDescending reports whether the values of the i-th field are stored in
// descending order.
func (d *Definition) IsDescending(i int) bool {
	return len(d.Descending) > 0 && slices.Contains(d.Descending, d.Fields[i])
}

// AppendPrefix appends to a directory's prefix what all keys of the index
// begin with: the packed ("I", KeyName).
func (d *Definition) AppendPrefix(dst []byte) []byte {
	return tuple.AppendString(tuple.AppendString(dst, "I"), d.KeyName())
}

// Split cuts what follows the prefix of an entry's key into the packed values
// and the packed id, which is empty in a unique index. The shard, if the index
// is scattered, is left out. Values of descending fields are as they are stored.
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
	if d.hasID() != (len(rest) > 0) {
		return nil, nil, fmt.Errorf("index: a key of %s has %d bytes behind its values", d.KeyName(), len(rest))
	}
	return values, rest, nil
}

// hasID reports whether the keys end in the id of the record.
func (d *Definition) hasID() bool { return !d.Unique && d.Kind.endsInID() }
