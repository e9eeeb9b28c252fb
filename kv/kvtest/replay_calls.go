// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// call runs one step of a scenario.
type call func(ctx context.Context, r *replay, s *slot, st *step) answer

var calls = map[string]call{
	"begin": begin, "reset": reset, "cancel": cancelTx, "sleep": sleep,
	"get_read_version": getReadVersion, "set_read_version": setReadVersion,
	"get": get, "get_key": getKey, "get_range": getRange,
	"set": set, "clear": clearKey, "clear_range": clearRange, "atomic": applyAtomic,
	"add_read_conflict_key": addReadKey, "add_read_conflict_range": addReadRange,
	"add_write_conflict_key": addWriteKey, "add_write_conflict_range": addWriteRange,
	"conflict_ranges": conflictRanges, "set_option": setOption,
	"watch": watch, "watch_state": watchState, "cancel_watch": cancelWatch,
	"commit": commit, "commit_start": commitStart, "commit_await": commitAwait,
	"get_committed_version": getCommittedVersion, "get_approximate_size": getApproximateSize,
	"get_versionstamp": getVersionstamp, "await_versionstamp": awaitVersionstamp,
	"on_error": onError,
}

func begin(ctx context.Context, r *replay, s *slot, st *step) answer {
	tx, err := r.db.Begin()
	if err != nil {
		return done(err)
	}
	s.tx, s.commit = tx, kv.Future[struct{}]{}
	r.opened = append(r.opened, tx)
	if !st.GRV {
		return answer{}
	}
	return getReadVersion(ctx, r, s, st)
}

func reset(_ context.Context, _ *replay, s *slot, _ *step) answer {
	s.tx.Reset()
	return answer{}
}

func cancelTx(_ context.Context, _ *replay, s *slot, _ *step) answer {
	s.tx.Cancel()
	return answer{}
}

func sleep(ctx context.Context, _ *replay, _ *slot, st *step) answer {
	pause(ctx, nil, time.Duration(st.WaitMS)*time.Millisecond)
	return answer{}
}

func getReadVersion(ctx context.Context, _ *replay, s *slot, _ *step) answer {
	version, err := s.tx.GetReadVersion().Get(ctx)
	if err == nil {
		s.read = version
	}
	return done(err)
}

func setReadVersion(ctx context.Context, r *replay, s *slot, st *step) answer {
	version, other := st.Arg, r.slots[st.Of]
	if st.Base != "" && (other == nil || other.tx == nil) {
		return done(fmt.Errorf("transaction %d, whose version is added to, was not begun", st.Of))
	}
	base := int64(1)
	switch st.Base {
	case "read":
		base = other.read
	case "committed":
		committed, err := other.tx.GetCommittedVersion()
		if err != nil {
			return done(fmt.Errorf("the version to add to: %w", err))
		}
		base = committed
	}
	if base <= 0 {
		return done(fmt.Errorf("transaction %d has no version to add to", st.Of))
	}
	if st.Base != "" {
		version += base
	}
	if st.Base != "" && 0 < st.Arg && st.Arg <= kv.VersionsPerSecond {
		if err := r.advance(ctx); err != nil {
			return done(fmt.Errorf("advancing to the version: %w", err))
		}
	}
	s.tx.SetReadVersion(version)
	return answer{}
}

// advance makes the version grow by a commit that touches nothing, so that one
// that is a little ahead of the last commit can be read. A cluster that is idle
// would reach it two seconds later (MAX_COMMIT_BATCH_INTERVAL), and reads give up
// after one (FUTURE_VERSION_DELAY), with 1009.
func (r *replay) advance(ctx context.Context) error {
	return r.db.Transact(ctx, func(tx kv.Transaction) error {
		if err := tx.SetOption(kv.OptionAccessSystemKeys, 0); err != nil {
			return err
		}
		return tx.AddWriteConflictKey([]byte("\xff/kvtest/advance"))
	})
}

// reader returns the view that a step reads.
func reader(s *slot, st *step) kv.ReadTransaction {
	if st.Snapshot {
		return s.tx.Snapshot()
	}
	return s.tx
}

func get(ctx context.Context, r *replay, s *slot, st *step) answer {
	key, err := st.Key.bytes(r.known)
	if err != nil {
		return done(err)
	}
	value, err := reader(s, st).Get(key).Get(ctx)
	return answer{kind: "value", bytes: value}.orError(err)
}

func getKey(ctx context.Context, r *replay, s *slot, st *step) answer {
	sel, err := selectorText{st.Key, st.OrEqual, st.Offset}.selector(r.known)
	if err != nil {
		return done(err)
	}
	key, err := reader(s, st).GetKey(sel).Get(ctx)
	if key == nil {
		key = []byte{} // a key is never absent; the empty one may come as nil
	}
	return answer{kind: "key", bytes: key}.orError(err)
}

func getRange(ctx context.Context, r *replay, s *slot, st *step) answer {
	from, errFrom := st.Begin.selector(r.known)
	to, errTo := st.End.selector(r.known)
	mode, ok := modeNames[st.Mode]
	if !ok {
		errTo = fmt.Errorf("the replayer does not know the mode %q", st.Mode)
	}
	if err := errors.Join(errFrom, errTo); err != nil {
		return done(err)
	}
	options := kv.RangeOptions{Limit: st.Limit, Reverse: st.Reverse, Mode: mode}
	kvs, err := reader(s, st).GetRange(kv.SelectorRange{Begin: from, End: to}, options).Slice(ctx)
	return answer{kind: "kvs", kvs: kvs}.orError(err)
}

func set(_ context.Context, r *replay, s *slot, st *step) answer {
	key, errKey := st.Key.bytes(r.known)
	value, errValue := st.Value.bytes(r.known)
	if err := errors.Join(errKey, errValue); err != nil {
		return done(err)
	}
	key, value = bytes.Clone(key), bytes.Clone(value)
	s.tx.Set(key, value)
	spoil(key, value)
	return answer{}
}

// spoil overwrites arguments after a call: engines must have copied them.
func spoil(all ...[]byte) {
	for _, b := range all {
		for i := range b {
			b[i] = '?'
		}
	}
}

func clearKey(_ context.Context, r *replay, s *slot, st *step) answer {
	key, err := st.Key.bytes(r.known)
	if err == nil {
		s.tx.Clear(key)
	}
	return done(err)
}

func keyRange(r *replay, st *step) (kv.KeyRange, error) {
	from, errFrom := st.From.bytes(r.known)
	to, errTo := st.To.bytes(r.known)
	return kv.KeyRange{Begin: from, End: to}, errors.Join(errFrom, errTo)
}

func clearRange(_ context.Context, r *replay, s *slot, st *step) answer {
	keys, err := keyRange(r, st)
	if err == nil {
		s.tx.ClearRange(keys)
	}
	return done(err)
}

func applyAtomic(_ context.Context, r *replay, s *slot, st *step) answer {
	op, ok := mutationNames[st.Mutation]
	if !ok {
		return done(fmt.Errorf("the replayer does not know the mutation %q", st.Mutation))
	}
	key, errKey := st.Key.bytes(r.known)
	operand, errValue := st.Value.bytes(r.known)
	if err := errors.Join(errKey, errValue); err != nil {
		return done(err)
	}
	key, operand = bytes.Clone(key), bytes.Clone(operand)
	s.tx.Atomic(op, key, operand)
	spoil(key, operand)
	return answer{}
}

func addReadKey(_ context.Context, r *replay, s *slot, st *step) answer {
	key, err := st.Key.bytes(r.known)
	if err != nil {
		return done(err)
	}
	return done(s.tx.AddReadConflictKey(key))
}

func addWriteKey(_ context.Context, r *replay, s *slot, st *step) answer {
	key, err := st.Key.bytes(r.known)
	if err != nil {
		return done(err)
	}
	return done(s.tx.AddWriteConflictKey(key))
}

func addReadRange(_ context.Context, r *replay, s *slot, st *step) answer {
	keys, err := keyRange(r, st)
	if err != nil {
		return done(err)
	}
	return done(s.tx.AddReadConflictRange(keys))
}

func addWriteRange(_ context.Context, r *replay, s *slot, st *step) answer {
	keys, err := keyRange(r, st)
	if err != nil {
		return done(err)
	}
	return done(s.tx.AddWriteConflictRange(keys))
}

func conflictRanges(ctx context.Context, _ *replay, s *slot, _ *step) answer {
	ranger, ok := s.tx.(kv.ConflictRanger)
	if !ok {
		return done(errors.New("the engine's transactions are no kv.ConflictRanger"))
	}
	read, write, err := ranger.ConflictRanges(ctx)
	return answer{kind: "ranges", read: read, write: write}.orError(err)
}
