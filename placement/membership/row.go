// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// row is what is stored of a member, beside its lease.
type row placement.Member

// rowFormat is the first element of a row.
const rowFormat = 1

// encode returns the value of a row: (format, incarnation, address, draining, load, number of
// kinds, kinds…, number of labels, labels and their values…).
func (r row) encode() []byte {
	b := tuple.AppendInt(nil, rowFormat)
	b = tuple.AppendInt(b, r.Incarnation)
	b = tuple.AppendString(b, r.Address)
	b = tuple.AppendBool(b, r.Draining)
	b = tuple.AppendInt(b, r.Load)
	b = tuple.AppendInt(b, int64(len(r.Kinds)))
	for _, kind := range r.Kinds {
		b = tuple.AppendString(b, kind)
	}
	b = tuple.AppendInt(b, int64(len(r.Labels)))
	for _, label := range slices.Sorted(maps.Keys(r.Labels)) {
		b = tuple.AppendString(tuple.AppendString(b, label), r.Labels[label])
	}
	return b
}

// decode reads the value of the row of a name.
func decode(name string, b []byte) (r row, err error) {
	rest, err := newer.ReadFormat(b, rowFormat)
	in := decoder{rest: rest, err: err}
	r.Owner = placement.Owner{Name: name, Incarnation: in.readInt()}
	r.Address = in.readText()
	r.Draining = in.readBool()
	r.Load = in.readInt()
	for range in.readCount() {
		r.Kinds = append(r.Kinds, in.readText())
	}
	for range in.readCount() {
		if r.Labels == nil {
			r.Labels = map[string]string{}
		}
		label := in.readText()
		r.Labels[label] = in.readText()
	}
	if in.err == nil && (len(in.rest) > 0 || r.Incarnation < 1) {
		in.err = fmt.Errorf("incarnation %d and %d further bytes make no member", r.Incarnation, len(in.rest))
	}
	if in.err == nil { // a coordinator would refuse a whole topology with an invalid member
		in.err = placement.Member(r).Validate()
	}
	return r, in.err
}

// decoder reads elements one after another, up to the first that is not there.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) readInt() (n int64) {
	if d.err == nil {
		n, d.rest, d.err = tuple.ReadInt(d.rest)
	}
	return n
}

// readCount reads a number of elements, of which there can be no more than bytes.
func (d *decoder) readCount() int64 {
	n := d.readInt()
	if d.err == nil && (n < 0 || n > int64(len(d.rest))) {
		d.err = fmt.Errorf("%d elements cannot be in %d bytes", n, len(d.rest))
	}
	if d.err != nil {
		return 0
	}
	return n
}

func (d *decoder) readText() (s string) {
	if d.err == nil {
		s, d.rest, d.err = tuple.ReadString(d.rest)
	}
	return s
}

func (d *decoder) readBool() (v bool) {
	if d.err == nil {
		v, d.rest, d.err = tuple.ReadBool(d.rest)
	}
	return v
}

// DecodeMember reads the value of the key ("M", name) of the directory of members.
func DecodeMember(name string, value []byte) (placement.Member, error) {
	r, err := decode(name, value)
	return placement.Member(r), err
}
