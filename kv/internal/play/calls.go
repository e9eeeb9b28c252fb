// SPDX-License-Identifier: Apache-2.0

package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// Call runs one step of a scenario.
type Call func(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer

var Calls = map[string]Call{
	"begin": begin, "reset": reset, "cancel": cancelTx, "sleep": sleep,
	"get_read_version": getReadVersion, "set_read_version": setReadVersion,
	"get": get, "get_key": getKey, "get_range": getRange,
	"set": set, "clear": clearKey, "clear_range": clearRange, "atomic": applyAtomic,
	"add_read_conflict_key": addReadKey, "add_read_conflict_range": addReadRange,
	"add_write_conflict_key": addWriteKey, "add_write_conflict_range": addWriteRange,
	"conflict_ranges": ConflictRanges, "set_option": setOption,
	"watch": watch, "watch_state": watchState, "cancel_watch": cancelWatch,
	"commit": commit, "commit_start": commitStart, "commit_await": commitAwait,
	"get_committed_version": getCommittedVersion, "get_approximate_size": GetApproximateSize,
	"get_versionstamp": getVersionstamp, "await_versionstamp": AwaitVersionstamp,
	"on_error": onError,
}

func begin(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	tx, err := r.db.Begin()
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	s.Tx, s.commit = tx, kv.Future[struct{}]{}
	r.opened = append(r.opened, tx)
	if !st.GRV {
		return scenario.Answer{}
	}
	return getReadVersion(ctx, r, s, st)
}

func reset(_ context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	s.Tx.Reset()
	return scenario.Answer{}
}

func cancelTx(_ context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	s.Tx.Cancel()
	return scenario.Answer{}
}

func sleep(ctx context.Context, _ *Player, _ *Slot, st *scenario.Step) scenario.Answer {
	Pause(ctx, nil, time.Duration(st.WaitMS)*time.Millisecond)
	return scenario.Answer{}
}

func getReadVersion(ctx context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	version, err := s.Tx.GetReadVersion().Get(ctx)
	if err == nil {
		s.read = version
	}
	return scenario.ErrorAnswer(err)
}

func setReadVersion(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	version, other := st.Arg, r.Slots[st.Of]
	if st.Base != "" && (other == nil || other.Tx == nil) {
		return scenario.ErrorAnswer(fmt.Errorf("transaction %d was not begun; the step adds to its version", st.Of))
	}
	base := int64(1)
	switch st.Base {
	case "read":
		base = other.read
	case "committed":
		committed, err := other.Tx.GetCommittedVersion()
		if err != nil {
			return scenario.ErrorAnswer(fmt.Errorf("the version to add to: %w", err))
		}
		base = committed
	}
	if base <= 0 {
		return scenario.ErrorAnswer(fmt.Errorf("transaction %d has no version to add to", st.Of))
	}
	if st.Base != "" {
		version += base
	}
	if st.Base != "" && 0 < st.Arg && st.Arg <= kv.VersionsPerSecond {
		if err := r.advance(ctx); err != nil {
			return scenario.ErrorAnswer(fmt.Errorf("advancing to the version: %w", err))
		}
	}
	s.Tx.SetReadVersion(version)
	return scenario.Answer{}
}

// reader returns the view that a step reads.
func reader(s *Slot, st *scenario.Step) kv.ReadTransaction {
	if st.Snapshot {
		return s.Tx.Snapshot()
	}
	return s.Tx
}

func get(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	key, err := st.Key.Bytes(r.Known)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	value, err := reader(s, st).Get(key).Get(ctx)
	return scenario.Answer{Kind: "value", Bytes: value}.OrError(err)
}

func getKey(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	sel, err := scenario.SelectorText{Key: st.Key, OrEqual: st.OrEqual, Offset: st.Offset}.Selector(r.Known)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	key, err := reader(s, st).GetKey(sel).Get(ctx)
	if key == nil {
		key = []byte{} // a key is never absent; the empty one may come as nil
	}
	return scenario.Answer{Kind: "key", Bytes: key}.OrError(err)
}

func getRange(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	from, errFrom := st.Begin.Selector(r.Known)
	to, errTo := st.End.Selector(r.Known)
	mode, ok := scenario.ModeNames[st.Mode]
	if !ok {
		errTo = fmt.Errorf("the replayer does not know the mode %q", st.Mode)
	}
	if err := errors.Join(errFrom, errTo); err != nil {
		return scenario.ErrorAnswer(err)
	}
	options := kv.RangeOptions{Limit: st.Limit, Reverse: st.Reverse, Mode: mode}
	kvs, err := reader(s, st).GetRange(kv.SelectorRange{Begin: from, End: to}, options).Slice(ctx)
	return scenario.Answer{Kind: "kvs", KVs: kvs}.OrError(err)
}

func set(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	key, errKey := st.Key.Bytes(r.Known)
	value, errValue := st.Value.Bytes(r.Known)
	if err := errors.Join(errKey, errValue); err != nil {
		return scenario.ErrorAnswer(err)
	}
	key, value = bytes.Clone(key), bytes.Clone(value)
	s.Tx.Set(key, value)
	Spoil(key, value)
	return scenario.Answer{}
}

// Spoil overwrites arguments after a call: engines must have copied them.
func Spoil(all ...[]byte) {
	for _, b := range all {
		for i := range b {
			b[i] = '?'
		}
	}
}

func clearKey(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	key, err := st.Key.Bytes(r.Known)
	if err == nil {
		s.Tx.Clear(key)
	}
	return scenario.ErrorAnswer(err)
}

func keyRange(r *Player, st *scenario.Step) (kv.KeyRange, error) {
	from, errFrom := st.From.Bytes(r.Known)
	to, errTo := st.To.Bytes(r.Known)
	return kv.KeyRange{Begin: from, End: to}, errors.Join(errFrom, errTo)
}

func clearRange(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	keys, err := keyRange(r, st)
	if err == nil {
		s.Tx.ClearRange(keys)
	}
	return scenario.ErrorAnswer(err)
}

func applyAtomic(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	op, ok := scenario.MutationNames[st.Mutation]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("the replayer does not know the mutation %q", st.Mutation))
	}
	key, errKey := st.Key.Bytes(r.Known)
	operand, errValue := st.Value.Bytes(r.Known)
	if err := errors.Join(errKey, errValue); err != nil {
		return scenario.ErrorAnswer(err)
	}
	key, operand = bytes.Clone(key), bytes.Clone(operand)
	s.Tx.Atomic(op, key, operand)
	Spoil(key, operand)
	return scenario.Answer{}
}

func addReadKey(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	key, err := st.Key.Bytes(r.Known)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	return scenario.ErrorAnswer(s.Tx.AddReadConflictKey(key))
}

func addWriteKey(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	key, err := st.Key.Bytes(r.Known)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	return scenario.ErrorAnswer(s.Tx.AddWriteConflictKey(key))
}

func addReadRange(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	keys, err := keyRange(r, st)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	return scenario.ErrorAnswer(s.Tx.AddReadConflictRange(keys))
}

func addWriteRange(_ context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	keys, err := keyRange(r, st)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	return scenario.ErrorAnswer(s.Tx.AddWriteConflictRange(keys))
}

func ConflictRanges(ctx context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	read, write, err := s.Tx.ConflictRanges(ctx)
	return scenario.Answer{Kind: "ranges", Read: read, Write: write}.OrError(err)
}

func setOption(_ context.Context, _ *Player, s *Slot, st *scenario.Step) scenario.Answer {
	option, ok := scenario.OptionNames[st.Option]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("the replayer does not know the option %q", st.Option))
	}
	return scenario.ErrorAnswer(s.Tx.SetOption(option, st.Arg))
}

func commit(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	s.stamp = s.Tx.GetVersionstamp()
	err := s.Tx.Commit(ctx)
	if err == nil {
		r.learn(ctx, st, s)
	}
	return scenario.ErrorAnswer(err)
}

func commitStart(_ context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	s.stamp = s.Tx.GetVersionstamp()
	s.commit = s.Tx.CommitAsync()
	return scenario.Answer{}
}

func commitAwait(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	_, err := s.commit.Get(ctx)
	if err == nil {
		r.learn(ctx, st, s)
	}
	return scenario.ErrorAnswer(err)
}

func onError(ctx context.Context, _ *Player, s *Slot, st *scenario.Step) scenario.Answer {
	return scenario.ErrorAnswer(s.Tx.OnError(ctx, &kv.Error{Code: kv.Code(st.Code)}))
}

// getCommittedVersion answers 1 for any positive version, as recordings do.
func getCommittedVersion(_ context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	version, err := s.Tx.GetCommittedVersion()
	return scenario.Answer{Kind: "version", N: min(version, 1)}.OrError(err)
}

func GetApproximateSize(ctx context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	size, err := s.Tx.GetApproximateSize().Get(ctx)
	return scenario.Answer{Kind: "size", N: size}.OrError(err)
}

func getVersionstamp(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	future := s.Tx.GetVersionstamp()
	r.Asked[st.ID] = future
	if want, err := scenario.ParseAnswer(st.Want, r.Known); err == nil && want.Kind == "error" {
		Pause(ctx, future.Done(), r.errorWait(st))
	}
	return LookAtStamp(ctx, future)
}

func LookAtStamp(ctx context.Context, future kv.Future[[]byte]) scenario.Answer {
	if !future.Ready() {
		return scenario.Answer{Kind: "ready"}
	}
	_, err := future.Get(ctx)
	return scenario.Answer{Kind: "ready", Flag: true}.OrError(err)
}

func AwaitVersionstamp(ctx context.Context, r *Player, _ *Slot, st *scenario.Step) scenario.Answer {
	future, ok := r.Asked[st.ID]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("versionstamp %d was not asked for", st.ID))
	}
	Pause(ctx, future.Done(), r.patience(st, scenario.Answer{Kind: "ready"}))
	if !future.Ready() {
		return scenario.Answer{Kind: "ready"}
	}
	stamp, err := future.Get(ctx)
	return scenario.Answer{Kind: "versionstamp", Bytes: stamp}.OrError(err)
}

func watch(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	key, err := st.Key.Bytes(r.Known)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	before, sizeErr := s.Tx.GetApproximateSize().Get(ctx)
	future := s.Tx.Watch(key)
	r.watches[st.ID] = future
	answer := r.LookAtWatch(ctx, st, r.errorWait(st))
	// A watch adds a conflict range when it has read its key. What ends the transaction before, ends the watch, too.
	for end := time.Now().Add(readWait); sizeErr == nil && !future.Ready() && time.Now().Before(end); Pause(ctx, future.Done(), time.Millisecond) {
		if size, err := s.Tx.GetApproximateSize().Get(ctx); err != nil || size > before {
			break
		}
	}
	return answer
}

func watchState(ctx context.Context, r *Player, _ *Slot, st *scenario.Step) scenario.Answer {
	return r.LookAtWatch(ctx, st, r.patience(st, scenario.Answer{Kind: "fired"}))
}

func cancelWatch(_ context.Context, r *Player, _ *Slot, st *scenario.Step) scenario.Answer {
	future, ok := r.watches[st.ID]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("there is no watch %d", st.ID))
	}
	future.Cancel()
	return scenario.Answer{}
}
