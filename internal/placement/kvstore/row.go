// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/kv"
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
	// Err is an [ErrCorrupt] in a listing if the row cannot be read: then only Key is set.
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

// DecodeRow reads the value of the key ("F", kind, id) in the directory of placement; nil is
// an absent one.
func DecodeRow(key placement.Key, value []byte) (Row, error) {
	r := Row{Key: key}
	if value == nil {
		return r, nil
	}
	return r, r.decode(value)
}

// decodeRow is DecodeRow with an [ErrCorrupt] that names the key at.
func decodeRow(key placement.Key, at, value []byte) (Row, error) {
	r, err := DecodeRow(key, value)
	if err != nil {
		err = corruptError(at, err)
	}
	return r, err
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

// The limits of an entry, in bytes. What is larger is refused with a
// [placement.ErrTooLarge] before anything is written.
const (
	MaxSnapshot = 1_000_000
	MaxPID      = 10_000
)

const entryFormat = 1

// EntryChunk is the size in bytes of all chunks of an entry but the last one.
const EntryChunk = 90_000

// encodeEntry returns the bytes of an entry: (format, name, incarnation, address, epoch,
// topology, PID, version, observed at, size of the snapshot), then the snapshot. The time is in
// Unix nanoseconds, 0 for none; the size is -1 if there is no snapshot.
func encodeEntry(e core.ActivationEntry) []byte {
	size := int64(len(e.Record.Snapshot))
	if e.Record.Snapshot == nil {
		size = -1
	}
	b := make([]byte, 0, len(e.Record.Snapshot)+len(e.Record.PID)+len(e.Address)+len(e.Owner.Name)+64)
	b = tuple.AppendInt(b, entryFormat)
	b = tuple.AppendString(b, e.Owner.Name)
	b = tuple.AppendInt(b, e.Owner.Incarnation)
	b = tuple.AppendString(b, e.Address)
	b = tuple.AppendInt(b, e.Epoch)
	b = tuple.AppendInt(b, e.Topology)
	b = tuple.AppendString(b, e.Record.PID)
	b = tuple.AppendUint(b, e.Record.Version)
	b = tuple.AppendInt(b, nanoseconds(e.ObservedAt))
	return append(tuple.AppendInt(b, size), e.Record.Snapshot...)
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// decodeHead reads what comes before the snapshot, and returns its size and the
// bytes that follow.
func decodeHead(b []byte) (e core.ActivationEntry, size int64, rest []byte, err error) {
	var observed int64
	in := decoder{rest: b}
	in.readFormat(entryFormat)
	in.readText(&e.Owner.Name)
	in.readInt(&e.Owner.Incarnation)
	in.readText(&e.Address)
	in.readInt(&e.Epoch)
	in.readInt(&e.Topology)
	in.readText(&e.Record.PID)
	in.readUint(&e.Record.Version)
	in.readInt(&observed)
	in.readInt(&size)
	e.ObservedAt = timeOf(observed)
	if in.err == nil && (e.Epoch < 1 || e.Owner.Name == "" || e.Owner.Incarnation < 1 || size < -1 || size > MaxSnapshot) {
		in.err = fmt.Errorf("epoch %d, owner %v and a snapshot of %d bytes make no entry", e.Epoch, e.Owner, size)
	}
	return e, size, in.rest, in.err
}

// DecodeEntry reads the bytes of an entry: the values of the keys ("R", kind, id, n) of the
// directory of placement, in the order of n.
func DecodeEntry(b []byte) (*core.ActivationEntry, error) {
	e, size, rest, err := decodeHead(b)
	if err != nil {
		return nil, err
	}
	if int64(len(rest)) != max(size, 0) {
		return nil, fmt.Errorf("the snapshot has %d bytes of %d", len(rest), size)
	}
	if size >= 0 {
		e.Record.Snapshot = rest
	}
	return &e, nil
}

// ErrCorrupt says that a stored value cannot be used: it is damaged, or, if the error is a
// persistable.ErrNewer, a newer version wrote it. The text names the key and the remedy.
var ErrCorrupt = errors.New("kvstore: a stored value cannot be used")

// corruptError is the [ErrCorrupt] of a key in the database.
func corruptError(key []byte, err error) error {
	if errors.Is(err, newer.Err) {
		return fmt.Errorf("%w: that of key %s: %w", ErrCorrupt, tuple.Describe(key), err)
	}
	return fmt.Errorf("%w: that of key %s is damaged: restore it from a backup, so that its epochs go on: %w", ErrCorrupt, tuple.Describe(key), err)
}

// lockError is the error of a lock's operation.
func lockError(key placement.Key, err error) error {
	var typed *core.LockError
	if err == nil || errors.As(err, &typed) {
		return err
	}
	return &core.LockError{Key: key, Err: markUnavailable(err)}
}

// storageError is the error of a storage's operation.
func storageError(key placement.Key, op string, err error) error {
	if err == nil {
		return nil
	}
	return &core.StorageError{Key: key, Op: op, Err: markUnavailable(err)}
}

// markUnavailable wraps errors after which the outcome is unknown, those of the engine and
// of contexts, in an ErrUnavailable.
func markUnavailable(err error) error {
	retry := new(kv.RetryError)
	switch {
	case kv.CodeOf(err) != 0, errors.As(err, &retry), errors.Is(err, kv.ErrOutcomeUnknown), errors.Is(err, kv.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", placement.ErrUnavailable, err)
	}
	return err
}

// staleError returns the error of an operation under a lease that is not in force.
func staleError(r Row) error {
	switch {
	case r.Epoch == 0:
		return fmt.Errorf("%w: the key was never claimed", placement.ErrStale)
	case r.Free():
		return fmt.Errorf("%w: no member has the key since epoch %d", placement.ErrStale, r.Epoch)
	}
	return fmt.Errorf("%w: %v has the key under epoch %d", placement.ErrStale, r.Owner, r.Epoch)
}
