// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
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
	// Fields are the names of the fields that make up the key, in order, as the kind
	// has them.
	Fields []string
	// Of is the field that the kind Sum adds up.
	Of string
	// Descending names those of Fields that are stored in descending order,
	// by [Descend].
	Descending []string
	// Folded names those of Fields, texts, that are stored folded: without regard to case, as
	// package fold says.
	Folded []string
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
	// their record, with the shard before the values; 0 for not at all.
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
// descending order. The id, after the last field, is not.
func (d *Definition) IsDescending(i int) bool {
	return len(d.Descending) > 0 && i < len(d.Fields) && slices.Contains(d.Descending, d.Fields[i])
}

// IsFolded reports whether the texts of the i-th field are stored folded.
func (d *Definition) IsFolded(i int) bool {
	return len(d.Folded) > 0 && slices.Contains(d.Folded, d.Fields[i])
}

// FoldUnicode is the version of Unicode with which texts are folded.
const FoldUnicode = "15.0.0"

// FoldOption is the word of a layout for the folded fields. Another way to fold has another
// word, which older programs refuse.
const FoldOption = "fold" + FoldUnicode

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
	for range d.elements() {
		if rest, err = tuple.Skip(rest); err != nil {
			return nil, nil, fmt.Errorf("index: a key of %s: %w", d.KeyName(), err)
		}
	}
	values = suffix[:len(suffix)-len(rest)]
	if d.hasID() != (len(rest) > 0) {
		return nil, nil, fmt.Errorf("index: a key of %s has %d bytes after its values", d.KeyName(), len(rest))
	}
	return values, rest, nil
}

// elements returns how many elements keys have before the id.
func (d *Definition) elements() int {
	if d.Kind.descriptor().element != "" {
		return 1
	}
	return len(d.Fields)
}

// hasID reports whether the keys end in the id of the record.
func (d *Definition) hasID() bool { return !d.Unique && d.Kind.descriptor().endsInID }

// Values returns the values that are packed, as [Definition.Split] cuts them off: those
// of descending fields too are as they were before [Descend].
func (d *Definition) Values(packed []byte) (tuple.Tuple, error) {
	if len(d.Descending) == 0 {
		return tuple.Unpack(packed)
	}
	var ascending []byte
	rest := packed
	for i := range d.Fields {
		var err error
		if ascending, rest, err = d.AppendAscending(ascending, rest, i); err != nil {
			return nil, fmt.Errorf("index: a key of %s: %w", d.KeyName(), err)
		}
	}
	return tuple.Unpack(append(ascending, rest...))
}

// AppendAscending appends the value of the i-th field, which b begins with, as it was
// before Descend.
func (d *Definition) AppendAscending(dst, b []byte, i int) (ascending, rest []byte, err error) {
	if d.IsDescending(i) {
		return ReadDescended(dst, b)
	}
	if rest, err = tuple.Skip(b); err != nil {
		return dst, nil, err
	}
	return append(dst, b[:len(b)-len(rest)]...), rest, nil
}

// recountSuffix ends the key names of indexes that recount another one. No name of a
// type, a field or a kind has a tilde.
const recountSuffix = "~recount"

// Recount returns the definition of an index that counts anew what d, a count or a sum,
// counts: it has the same layout and a name of its own. A verification builds it, compares
// the two, and removes it.
func (d *Definition) Recount() *Definition {
	r := *d
	r.Name += recountSuffix
	return &r
}

// CutRecount returns the key name of the index that the one with that key name
// recounts, and whether it recounts one.
func CutRecount(keyName string) (of string, ok bool) {
	return strings.CutSuffix(keyName, recountSuffix)
}

// Bounds is a range of the keys of an index, relative to the index's prefix:
// equality on some of the first fields, then a range on the next one. It is
// immutable; the zero Bounds is the whole index. Values are given as packed
// tuple elements.
//
// After a value a key either ends or continues with a tuple element, which begins
// with a byte below 0xff. A string that begins with another string and a
// zero byte continues with 0xff. So all keys that have the value v lie between
// v and v+0xff, and all greater values at or after v+0xff.
type Bounds struct {
	equal []byte // the packed values of the fields with equality
	begin []byte // included; nil means equal
	end   []byte // excluded; nil means equal+0xff
}

const afterValue = 0xff

// Equal narrows the bounds to keys that have the values in their next fields.
func (b Bounds) Equal(values []byte) Bounds {
	return Bounds{equal: slices.Concat(b.equal, values)}
}

// EqualValues returns the packed values of Equal, with which all keys within the bounds
// begin. They must not be changed.
func (b Bounds) EqualValues() []byte { return b.equal }

// IsNarrowed reports whether the bounds are narrower than those of Equal.
func (b Bounds) IsNarrowed() bool { return b.begin != nil || b.end != nil }

// From narrows the bounds to values of the next field not below v.
func (b Bounds) From(v []byte) Bounds { return b.raiseBegin(slices.Concat(b.equal, v)) }

// After narrows the bounds to values of the next field above v.
func (b Bounds) After(v []byte) Bounds {
	return b.raiseBegin(append(slices.Concat(b.equal, v), afterValue))
}

// To narrows the bounds to values of the next field not above v.
func (b Bounds) To(v []byte) Bounds {
	return b.lowerEnd(append(slices.Concat(b.equal, v), afterValue))
}

// Before narrows the bounds to values of the next field below v.
func (b Bounds) Before(v []byte) Bounds { return b.lowerEnd(slices.Concat(b.equal, v)) }

func (b Bounds) raiseBegin(begin []byte) Bounds {
	if b.begin == nil || bytes.Compare(begin, b.begin) > 0 {
		b.begin = begin
	}
	return b
}

func (b Bounds) lowerEnd(end []byte) Bounds {
	if b.end == nil || bytes.Compare(end, b.end) < 0 {
		b.end = end
	}
	return b
}

// Resume narrows the bounds to keys after key, which is relative to the
// prefix, in the direction of the scan.
func (b Bounds) Resume(key []byte, reverse bool) Bounds {
	if reverse {
		return b.lowerEnd(slices.Clone(key))
	}
	return b.raiseBegin(kv.Successor(key))
}

// StartAt narrows the bounds to keys not below key, which is relative to the prefix.
func (b Bounds) StartAt(key []byte) Bounds { return b.raiseBegin(slices.Clone(key)) }

// EndBefore narrows the bounds to keys below key, which is relative to the prefix.
func (b Bounds) EndBefore(key []byte) Bounds { return b.lowerEnd(slices.Clone(key)) }

// Range returns the keys of an index with the prefix. It is empty, never
// inverted, where nothing can be within the bounds.
func (b Bounds) Range(prefix []byte) kv.KeyRange {
	begin, end := b.begin, b.end
	if begin == nil {
		begin = b.equal
	}
	if end == nil {
		end = append(slices.Clone(b.equal), afterValue)
	}
	if bytes.Compare(begin, end) > 0 {
		end = begin
	}
	return kv.KeyRange{Begin: slices.Concat(prefix, begin), End: slices.Concat(prefix, end)}
}

// Contains reports whether the key, relative to the prefix, is within the bounds.
func (b Bounds) Contains(key []byte) bool {
	r := b.Range(nil)
	return bytes.Compare(key, r.Begin) >= 0 && bytes.Compare(key, r.End) < 0
}

// AppendBytes appends an encoding of the bounds that differs for different
// bounds: what a page token is bound to.
func (b Bounds) AppendBytes(dst []byte) []byte {
	r := b.Range(nil)
	dst = appendFramed(dst, b.equal)
	dst = appendFramed(dst, r.Begin)
	return appendFramed(dst, r.End)
}

func appendFramed(dst, v []byte) []byte {
	n := len(v)
	dst = append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(dst, v...)
}
