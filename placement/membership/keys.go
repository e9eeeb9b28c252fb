// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// Letters of the keys in the directory, which also has those of leasefdb.
const (
	letterMember  = "M" // (letter, name)
	letterVersion = "V" // (letter)
	letterCluster = "C" // (letter)
)

// ClusterIDSize is the number of bytes of the id of a cluster.
const ClusterIDSize = 16

// keys makes the keys in a directory.
type keys struct{ prefix []byte }

func keysOf(d *directory.Directory, err error) (keys, error) {
	if err != nil {
		return keys{}, err
	}
	prefix, err := d.Prefix()
	return keys{prefix}, err
}

func (k keys) letter(letter string) []byte { return tuple.AppendString(bytes.Clone(k.prefix), letter) }

func (k keys) version() []byte { return k.letter(letterVersion) }

func (k keys) cluster() []byte { return k.letter(letterCluster) }

func (k keys) member(name string) []byte { return tuple.AppendString(k.letter(letterMember), name) }

// bumpVersion counts a change of the topology. It reads nothing, so that changes of several
// members do not conflict.
func (k keys) bumpVersion(tx kv.Transaction) { tx.Atomic(kv.Add, k.version(), kv.Int64(1)) }

// startVersion begins to read the version.
func (k keys) startVersion(tx kv.ReadTransaction) func(context.Context) (int64, error) {
	at := k.version()
	read := tx.Snapshot().Get(at)
	return func(ctx context.Context) (int64, error) {
		value, err := read.Get(ctx)
		if err != nil || value == nil {
			return 0, err
		}
		if len(value) != 8 || value[7] > 127 {
			return 0, corruptError(at, fmt.Errorf("%x is not a version", value))
		}
		return int64(binary.LittleEndian.Uint64(value)), nil
	}
}

// rows are the members as they are stored.
type rows struct {
	members []placement.Member
	damaged []error  // why rows cannot be read
	unread  []string // the names of those that have one
}

// startRows begins to read all members.
func (k keys) startRows(tx kv.ReadTransaction) func(context.Context) (rows, error) {
	prefix := k.letter(letterMember)
	read := tx.Snapshot().GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll})
	return func(ctx context.Context) (all rows, err error) {
		pairs, err := read.Slice(ctx)
		for _, pair := range pairs {
			all.add(prefix, pair)
		}
		return all, err
	}
}

// add adds what one pair has. One that cannot be read says nothing about the others.
func (r *rows) add(prefix []byte, pair kv.KeyValue) {
	m, err := decodePair(prefix, pair)
	if err == nil {
		r.members = append(r.members, placement.Member(m))
		return
	}
	r.damaged = append(r.damaged, corruptError(pair.Key, err))
	if (placement.Owner{Name: m.Name, Incarnation: 1}).Validate() == nil { // otherwise no member has such a row
		r.unread = append(r.unread, m.Name)
	}
}

// owners returns the owners of all rows. An owner with a row that cannot be read has incarnation 0.
func (r rows) owners() (owners []placement.Owner) {
	for _, m := range r.members {
		owners = append(owners, m.Owner)
	}
	for _, name := range r.unread {
		owners = append(owners, placement.Owner{Name: name})
	}
	return owners
}

// startCluster begins to read the id of the cluster, in hexadecimal digits: "" until a member
// has joined that gives it one.
func (k keys) startCluster(tx kv.ReadTransaction) func(context.Context) (string, error) {
	read := tx.Get(k.cluster())
	return func(ctx context.Context) (string, error) {
		value, err := read.Get(ctx)
		return hex.EncodeToString(value), err
	}
}

// readTopology reads the members and the id of the cluster, and returns them without a version.
func (k keys) readTopology(ctx context.Context, tx kv.ReadTransaction) (t placement.Topology, all rows, err error) {
	members, cluster := k.startRows(tx), k.startCluster(tx.Snapshot())
	if all, err = members(ctx); err != nil {
		return t, all, err
	}
	t.Members = all.members
	t.Cluster, err = cluster(ctx)
	return t, all, err
}

func decodePair(prefix []byte, pair kv.KeyValue) (row, error) {
	name, rest, err := tuple.ReadString(pair.Key[len(prefix):])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the name", len(rest))
	}
	if err != nil {
		return row{}, err
	}
	r, err := decode(name, pair.Value)
	r.Name = name
	return r, err
}

// row is what is stored of a member in addition to its lease.
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
	if in.err == nil { // a process would refuse a whole topology with an invalid member
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
