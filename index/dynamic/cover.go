// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// coverField is a field that the entries of an index copy.
type coverField struct {
	number protowire.Number
	zero   []byte // as it would be stored; a field that is not null does not store it
	preset []byte // as it would be stored: what a record without the field has; nil for none
	wire   wire.Type
	repeat bool // every occurrence counts, not the last one only
	packed bool // the elements are in packed lists
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

// setKind sets how the values of the kind are stored.
func (f *coverField) setKind(k schema.Kind) error {
	v, ok := newValue(k)
	if !ok {
		return fmt.Errorf("only the type's Go code can copy a %s", k)
	}
	f.packed = k.Wrap == "[]" && v.wire != wire.BytesType
	f.wire = v.wire
	if k.Wrap == "" && f.preset == nil {
		f.zero = zeroOf(k, v.wire)
	}
	return nil
}

// zeroOf returns how the zero of a kind would be stored, behind the tag.
func zeroOf(k schema.Kind, t wire.Type) []byte {
	switch {
	case k.Base == "time":
		return wire.AppendTimestamp(nil, time.Time{})
	case k.Base == "bytes[]":
		size, _ := strconv.Atoi(k.Arg)
		return wire.AppendBytes(nil, make([]byte, size))
	case t == wire.Fixed64Type:
		return make([]byte, 8)
	case t == wire.Fixed32Type:
		return make([]byte, 4)
	}
	return []byte{0} // a varint, or a length
}

// coverText is a kind in the part of a signature that is of copied fields: all
// integers of one sign are stored in one way.
func coverText(k schema.Kind) string {
	if key, isMap := strings.CutPrefix(k.Wrap, "map["); isMap {
		k.Wrap = "map[" + withoutWidth(strings.TrimSuffix(key, "]")) + "]"
	}
	if k.Arg == "" {
		k.Base = withoutWidth(k.Base)
	}
	return k.String()
}

// withoutWidth returns int for int8, and so on.
func withoutWidth(base string) string { return strings.TrimRight(base, "0123456789") }

// AppendCover appends what an entry of an index with chosen fields copies of the record
// with that payload. It returns a *[wire.Error] if the payload is malformed.
func (p *Program) AppendCover(dst, payload []byte) ([]byte, error) {
	for i := range p.cover {
		var err error
		if dst, err = p.cover[i].appendCopy(dst, payload); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendCopy appends the field of a record.
func (f *coverField) appendCopy(dst, payload []byte) ([]byte, error) {
	var last, list []byte
	var lastType protowire.Type
	for rest := payload; len(rest) > 0; {
		number, t, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return dst, &wire.Error{Offset: len(payload) - len(rest), Reason: "the tag is malformed"}
		}
		size := protowire.ConsumeFieldValue(number, t, rest[n:])
		if size < 0 {
			return dst, &wire.Error{Offset: len(payload) - len(rest) + n, Field: int32(number), Reason: "the value is malformed"}
		}
		value := rest[n : n+size]
		switch rest = rest[n+size:]; {
		case number != f.number:
		case f.packed:
			list = append(list, elements(t, value)...)
		case f.repeat:
			dst = append(protowire.AppendTag(dst, number, t), value...)
		default:
			last, lastType = value, t
		}
	}
	if last == nil && f.preset != nil {
		last, lastType = f.preset, protowire.Type(f.wire)
	}
	switch {
	case len(list) > 0:
		dst = protowire.AppendBytes(protowire.AppendTag(dst, f.number, protowire.BytesType), list)
	case last != nil && !bytes.Equal(last, f.zero):
		dst = append(protowire.AppendTag(dst, f.number, lastType), last...)
	}
	return dst, nil
}

// elements returns the elements of one occurrence of a list that may be packed.
func elements(t protowire.Type, value []byte) []byte {
	if t == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(value)
	}
	return value
}
