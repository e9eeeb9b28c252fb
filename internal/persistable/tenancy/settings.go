// SPDX-License-Identifier: Apache-2.0

// Package tenancy holds what the database knows of a tenant besides its records:
// its [Lock] and its [Quota] with the usage. It is kept in annotations of the
// tenant's directory. Stores read it when they open, and package tenants changes it.
// Whatever moves or removes directories asks [FindLock] first, and has their records
// counted anew by [StartRecount] and [Recount].
// docs/layout.md shows the bytes.
package tenancy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Owner is the owner of the annotations.
const Owner = "kazahana"

// Settings are the value of a directory's annotation with the key ("settings"). The
// zero value is that of a directory without the key. The value is the packed tuple
//
//	(1, lock id, reason, maximum of records, maximum of bytes, state of the quota)
type Settings struct {
	Lock  Lock
	Quota Quota
}

// Lock keeps stores from writing.
type Lock struct {
	ID     string // random; empty: not locked
	Reason string
}

// Quota bounds what a directory holds.
type Quota struct {
	Records, Bytes int64 // maxima; 0: no bound
	State          State
}

// State says how much of the directory is counted.
type State int64

// The states of a quota.
const (
	Off      State = iota // there is no quota
	Counting              // records below the key in ("counted") are counted
	On                    // all records are counted
)

const settingsFormat = 1

// Encode returns the value of the annotation, nil for the zero value.
func (s Settings) Encode() ([]byte, error) {
	if s == (Settings{}) {
		return nil, nil
	}
	return tuple.Tuple{int64(settingsFormat), s.Lock.ID, s.Lock.Reason, s.Quota.Records, s.Quota.Bytes, int64(s.Quota.State)}.Pack()
}

// Decode reads the value of the annotation; nil is the zero value.
func Decode(value []byte) (s Settings, err error) {
	if value == nil {
		return s, nil
	}
	_, err = newer.ReadFormat(value, settingsFormat)
	if errors.Is(err, newer.Err) {
		return s, fmt.Errorf("the settings of the directory: %w", err)
	}
	t, err := tuple.Unpack(value)
	if err != nil || !s.read(t) {
		return Settings{}, fmt.Errorf("the settings of the directory are damaged: %x", value)
	}
	return s, nil
}

func (s *Settings) read(t tuple.Tuple) bool {
	if len(t) != 6 || t[0] != int64(settingsFormat) {
		return false
	}
	var ok [5]bool
	var state int64
	s.Lock.ID, ok[0] = t[1].(string)
	s.Lock.Reason, ok[1] = t[2].(string)
	s.Quota.Records, ok[2] = t[3].(int64)
	s.Quota.Bytes, ok[3] = t[4].(int64)
	state, ok[4] = t[5].(int64)
	s.Quota.State = State(state)
	return ok == [5]bool{true, true, true, true, true} && s.Quota.Records >= 0 && s.Quota.Bytes >= 0 && s.Quota.State >= Off && s.Quota.State <= On
}

// Read reads the settings of a directory.
func Read(ctx context.Context, tx kv.ReadTransaction, d *directory.Directory) (s Settings, keys Keys, err error) {
	keys = KeysOf(d.Annotation(Owner))
	value, err := tx.Get(keys.Settings).Get(ctx)
	if err == nil {
		s, err = decodeAt(value, d.Path())
	}
	return s, keys, err
}

// ErrUnreadable is wrapped by errors of what is known of a directory and cannot be read.
var ErrUnreadable = errors.New("tenants: what the database knows of a tenant cannot be read")

func decodeAt(value []byte, path []string) (Settings, error) {
	s, err := Decode(value)
	if err != nil {
		err = fmt.Errorf("%w: %q: %w", ErrUnreadable, path, err)
	}
	return s, err
}

// Write writes the settings of a directory. All transactions that write below it and have
// not committed conflict, and the stores of all processes read the settings again.
func (s Settings) Write(ctx context.Context, tx kv.Transaction, d *directory.Directory) error {
	value, err := s.Encode()
	if err != nil {
		return err
	}
	key := KeysOf(d.Annotation(Owner)).Settings
	if tx.Clear(key); value != nil {
		tx.Set(key, value)
	}
	if err := d.Interrupt(tx); err != nil {
		return err
	}
	return directory.Invalidate(ctx, tx)
}

// ErrLocked is the sentinel of [Locked]. Package persistable shows and documents it.
var ErrLocked = errors.New("persistable: the directory is locked against writes")

// Locked is the error of a write in a directory that is locked. typ is the type of the
// record, empty if none is concerned; reason is that of the lock.
func Locked(typ string, path []string, reason string) error {
	if typ != "" {
		typ += ": "
	}
	return sentinel.Mark(ErrLocked, fmt.Errorf("persistable: %sthe directory %s is locked against writes (%s): try again when it is unlocked", typ, QuotePath(path), reason))
}

// QuotePath shows the path of a directory, with long names shortened.
func QuotePath(path []string) string {
	var b strings.Builder
	for i, name := range path {
		if i > 0 {
			b.WriteByte('/')
		}
		if len(name) > 64 {
			name = name[:64] + "…"
		}
		fmt.Fprintf(&b, "%q", name)
	}
	return b.String()
}

// FindLock returns the first of some directories that is locked, or one above it: its path
// is nil if there is none. The directories were opened in tx, which is about to change or
// remove them: a lock that comes before tx commits is a conflict.
//
// Cost: one round of reads.
func FindLock(ctx context.Context, tx kv.ReadTransaction, all ...*directory.Directory) (path []string, l Lock, err error) {
	known := map[string]bool{}
	var paths [][]string
	var keys [][]byte
	for _, d := range all {
		path := d.Path()
		for i, annotation := range d.Annotations(Owner) {
			key := KeysOf(annotation).Settings
			if known[string(key)] {
				continue
			}
			known[string(key)] = true
			paths, keys = append(paths, path[:i+1]), append(keys, key)
		}
	}
	for i, read := range kv.GetMany(tx, keys) {
		value, err := read.Get(ctx)
		if err != nil {
			return nil, Lock{}, err
		}
		if s, err := decodeAt(value, paths[i]); err != nil || s.Lock.ID != "" {
			return paths[i], s.Lock, err
		}
	}
	return nil, Lock{}, nil
}

// Keys are the keys of what is known of a directory.
type Keys struct {
	Settings []byte // ("settings")
	Records  []byte // ("records"): how many records there are, 8 bytes little-endian
	Bytes    []byte // ("bytes"): how many bytes their values have, 8 bytes little-endian
	Counted  []byte // ("counted"): the key up to which records are counted, while they are
}

// KeysOf returns the keys in the annotation of a directory.
func KeysOf(annotation tuple.Subspace) Keys {
	key := func(name string) []byte { return annotation.Sub(name).Bytes() }
	return Keys{Settings: key("settings"), Records: key("records"), Bytes: key("bytes"), Counted: key("counted")}
}

// ClearUsage clears the counters and how far they reach.
func (k Keys) ClearUsage(tx kv.Transaction) {
	tx.Clear(k.Records)
	tx.Clear(k.Bytes)
	tx.Clear(k.Counted)
}

// Usage is how much a directory holds.
type Usage struct{ Records, Bytes int64 }

// AddUsage adds to the counters. It reads nothing and conflicts with nothing.
func (k Keys) AddUsage(tx kv.Transaction, u Usage) {
	if u.Records != 0 {
		tx.Atomic(kv.Add, k.Records, kv.Int64(u.Records))
	}
	if u.Bytes != 0 {
		tx.Atomic(kv.Add, k.Bytes, kv.Int64(u.Bytes))
	}
}

// Reads are the reads of a directory's usage, under way.
type Reads struct{ records, bytes, counted kv.Future[[]byte] }

// StartReads starts to read the usage, without read conflicts, and while records are
// counted, up to which key they are.
func (k Keys) StartReads(tx kv.ReadTransaction, s State) Reads {
	snapshot := tx.Snapshot()
	r := Reads{records: snapshot.Get(k.Records), bytes: snapshot.Get(k.Bytes), counted: kv.Resolved[[]byte](nil, nil)}
	if s == Counting {
		r.counted = snapshot.Get(k.Counted)
	}
	return r
}

// Await returns the usage, and the key up to which records are counted; nil for none.
func (r Reads) Await(ctx context.Context) (u Usage, counted []byte, err error) {
	if u.Records, err = awaitCount(ctx, r.records); err != nil {
		return u, nil, err
	}
	if u.Bytes, err = awaitCount(ctx, r.bytes); err != nil {
		return u, nil, err
	}
	counted, err = r.counted.Get(ctx)
	return u, counted, err
}

func awaitCount(ctx context.Context, f kv.Future[[]byte]) (int64, error) {
	value, err := f.Get(ctx)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: a counter of the directory is damaged: %x", ErrUnreadable, value)
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}
