// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/newer"
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
