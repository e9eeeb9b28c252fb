// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// Row is the owner of a key.
type Row struct {
	Key      placement.Key
	Epoch    int64               // of the last claim; 0 if there was none
	Owner    placement.Owner     // zero: no member has the key
	Address  string              // of the owner
	Request  placement.RequestID // of the owner's claim
	Topology int64               // the version by which the owner was chosen
	// Err is a *[CorruptError] in a listing if the row cannot be read: then only Key is set.
	Err error
}

// Free reports whether no member has the key. Of a row with an Err that is not known.
func (r Row) Free() bool { return r.Owner.IsZero() }

// isHeldBy reports whether the owner has the key under the epoch.
func (r Row) isHeldBy(owner placement.Owner, epoch int64) bool {
	return r.Owner == owner && r.Epoch == epoch && !r.Free()
}

// holder returns the owner for errors; the zero value if the row is free.
func (r Row) holder() placement.Holder {
	if r.Free() {
		return placement.Holder{}
	}
	return placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch}
}

// rowFormat is the first element of a row.
const rowFormat = 1

// encode returns the value of the row: (format, epoch, name, incarnation,
// address, request, topology).
func (r Row) encode() []byte {
	b := tuple.AppendInt(nil, rowFormat)
	b = tuple.AppendInt(b, r.Epoch)
	b = tuple.AppendString(b, r.Owner.Name)
	b = tuple.AppendInt(b, r.Owner.Incarnation)
	b = tuple.AppendString(b, r.Address)
	b = tuple.AppendUint(b, uint64(r.Request))
	return tuple.AppendInt(b, r.Topology)
}

// decodeRow reads the value of a row; nil is an absent one.
func decodeRow(key placement.Key, at, value []byte) (Row, error) {
	r := Row{Key: key}
	if value == nil {
		return r, nil
	}
	if err := r.decode(value); err != nil {
		return r, &CorruptError{Key: at, Err: err}
	}
	return r, nil
}

func (r *Row) decode(b []byte) error {
	in := decoder{rest: b}
	in.readFormat(rowFormat)
	in.readInt(&r.Epoch)
	in.readText(&r.Owner.Name)
	in.readInt(&r.Owner.Incarnation)
	in.readText(&r.Address)
	in.readUint((*uint64)(&r.Request))
	in.readInt(&r.Topology)
	if in.err != nil {
		return in.err
	}
	named := r.Owner.Name != ""
	if len(in.rest) > 0 || r.Epoch < 1 || named != (r.Owner.Incarnation > 0) || r.Owner.Incarnation < 0 {
		return fmt.Errorf("epoch %d, owner %v and %d further bytes do not make a row", r.Epoch, r.Owner, len(in.rest))
	}
	return nil
}

// decoder reads one element after another, up to the first fault.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) readFormat(known int64) {
	if d.err == nil {
		d.rest, d.err = newer.ReadFormat(d.rest, known)
	}
}

func (d *decoder) readInt(into *int64) {
	if d.err == nil {
		*into, d.rest, d.err = tuple.ReadInt(d.rest)
	}
}

func (d *decoder) readUint(into *uint64) {
	if d.err == nil {
		*into, d.rest, d.err = tuple.ReadUint(d.rest)
	}
}

func (d *decoder) readText(into *string) {
	if d.err == nil {
		*into, d.rest, d.err = tuple.ReadString(d.rest)
	}
}

// DecodeRow reads the value of the key ("F", kind, id) of the directory of placement. An
// error is a *[CorruptError] that names the key at.
func DecodeRow(key placement.Key, at, value []byte) (Row, error) { return decodeRow(key, at, value) }
