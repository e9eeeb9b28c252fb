// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// The limits of an entry, in bytes. What is larger is refused with a
// [placement.ErrTooLarge] before anything is written.
const (
	MaxSnapshot = 1_000_000
	MaxPID      = 10_000
)

const (
	entryFormat = 1
	chunkSize   = 90_000 // bytes of a chunk; the last one has fewer
)

// encodeEntry returns the bytes of an entry: (format, name, incarnation, address, epoch,
// topology, PID, version, observed at, size of the snapshot), then the snapshot. The time is in
// Unix nanoseconds, 0 for none; the size is -1 if there is no snapshot.
func encodeEntry(e placement.ActivationEntry) []byte {
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
func decodeHead(b []byte) (e placement.ActivationEntry, size int64, rest []byte, err error) {
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

// decodeEntry reads the bytes of an entry.
func decodeEntry(b []byte) (*placement.ActivationEntry, error) {
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

// DecodeEntry reads the values of the keys ("R", kind, id, n) of the directory of
// placement, one behind another.
func DecodeEntry(chunks []byte) (*placement.ActivationEntry, error) { return decodeEntry(chunks) }

// EntryChunk is the size in bytes of all chunks of an entry but the last one.
const EntryChunk = chunkSize
