// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// epochShift is the place of the server's epoch in the version of a sequence: so
// versions grow even if data was lost.
const epochShift = 32

func (s *Store) sequenceKeys(name string) []string {
	return s.guardedKeys(s.key("seq", name), s.key("seqmeta", name))
}

func text(n int64) string { return strconv.FormatInt(n, 10) }

// Reserve implements [store.Store].
func (s *Store) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	if err := errors.Join(store.CheckName(name), r.Validate()); err != nil {
		return store.Range{}, err
	}
	keys, floor := s.sequenceKeys(name), s.highestSeen(name)
	total, limit := simpleLimit(r)
	removable := "0"
	if r.Removable {
		removable = "1"
	}
	for {
		got, err := s.runWrite(ctx, "reserve", reserveScript, keys, text(total), text(r.Step), limit, text(floor), text(floor>>epochShift), removable)
		if err != nil {
			return store.Range{}, err
		}
		if got.status == "ok" {
			return s.reservedRange(name, got, total)
		}
		made, changed, err := s.reserveSlowly(ctx, name, r, got)
		if err != nil || !changed {
			return made, err
		}
	}
}

// simpleLimit returns the total that a reservation adds, and, as text, the last value from
// which it stays within the bound; "" if that is not an int64.
func simpleLimit(r store.Reservation) (total int64, limit string) {
	step := uint64(r.Step)
	if r.Step < 0 {
		step = -step
	}
	high, low := bits.Mul64(step, uint64(r.Count))
	if high > 0 || low > math.MaxInt64 {
		return 0, ""
	}
	total = int64(low)
	if r.Step < 0 {
		total = -total
	}
	last := r.Bound - total
	if (last < r.Bound) != (total > 0) {
		return 0, "" // it overflows
	}
	return total, text(last)
}

// reservedRange returns the range that a script has reserved.
func (s *Store) reservedRange(name string, got reply, total int64) (store.Range, error) {
	to, err := got.int(0, s.key("seq", name))
	if err != nil {
		return store.Range{}, err
	}
	version, err := got.int(1, s.key("seqmeta", name))
	if err != nil {
		return store.Range{}, err
	}
	s.noteVersion(name, version)
	return store.Range{From: to - total, To: to, Version: version}, nil
}

// reserveSlowly reserves from the state that the script has returned: of a new
// sequence, near a bound, after a confirmation. It reports whether the sequence has
// changed since.
func (s *Store) reserveSlowly(ctx context.Context, name string, r store.Reservation, got reply) (made store.Range, changed bool, err error) {
	q, err := s.parseState(name, got)
	if err != nil {
		return made, false, err
	}
	from := q.startValue(r)
	to, err := r.Advance(from)
	if err != nil {
		return made, false, fmt.Errorf("redis: reserve: %w", err)
	}
	made = store.Range{From: from, To: to, Version: q.nextVersion()}
	changed, err = s.replaceSequence(ctx, name, q, to, text(r.Step), "")
	if err != nil || changed {
		return store.Range{}, changed, err
	}
	return made, false, nil
}

// replaceSequence stores a sequence unless it was changed since it was read, and reports
// whether it was.
func (s *Store) replaceSequence(ctx context.Context, name string, q sequence, value int64, step, mark string) (changed bool, err error) {
	version := q.nextVersion()
	got, err := s.runWrite(ctx, "replace", replaceScript, s.sequenceKeys(name), q.rawValue, q.rawVersion, q.rawEpoch, text(value), text(version), step, mark)
	if err != nil || got.status == "changed" {
		return true, err
	}
	s.noteVersion(name, version)
	return false, nil
}

// Sequence implements [store.Store].
func (s *Store) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	q, err := s.readSequence(ctx, name)
	if err == nil && !q.exists {
		err = fmt.Errorf("redis: sequence: %w", store.ErrNotFound)
	}
	if err != nil {
		return store.Sequence{}, err
	}
	return store.Sequence{Value: q.startValue(store.Reservation{Step: 1, Bound: math.MaxInt64}), Version: q.version}, nil
}

// readSequence reads a sequence.
func (s *Store) readSequence(ctx context.Context, name string) (sequence, error) {
	if err := store.CheckName(name); err != nil {
		return sequence{}, err
	}
	floor := s.highestSeen(name)
	got, err := s.runRead(ctx, "sequence", sequenceScript, s.sequenceKeys(name))
	if err != nil {
		return sequence{}, err
	}
	q, err := s.parseState(name, got)
	if err == nil && q.version < floor && q.epoch == floor>>epochShift {
		err = fmt.Errorf("redis: sequence %q: it had version %d and has %d: %w", name, floor, q.version, store.ErrLost)
	}
	return q, err
}

// SetSequence implements [store.Store].
func (s *Store) SetSequence(ctx context.Context, name string, value, version int64) error {
	mark := rand.Text()
	for {
		q, err := s.readSequence(ctx, name)
		if err != nil {
			return err
		}
		if q.mark == mark { // stored, though the client did not learn it
			return nil
		}
		if q.exists && q.version != version || !q.exists && version != 0 {
			return fmt.Errorf("redis: set sequence: %w", store.ErrConflict)
		}
		changed, err := s.replaceSequence(ctx, name, q, value, "", mark)
		if err != nil || !changed {
			return err
		}
	}
}

// DeleteSequence implements [store.Store].
func (s *Store) DeleteSequence(ctx context.Context, name string) (found bool, err error) {
	if err := store.CheckName(name); err != nil {
		return false, err
	}
	got, err := s.runWrite(ctx, "delete sequence", deleteSequenceScript, s.sequenceKeys(name))
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	delete(s.floors, name)
	s.mu.Unlock()
	n, err := got.int(0, s.key("seq", name))
	return n > 0, err
}

// highestSeen returns the highest version of a sequence that this process has seen.
func (s *Store) highestSeen(name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.floors[name]
}

// maxFloors bounds the remembered versions: those of sequences whose period is over are
// not needed.
const maxFloors = 1 << 18

// noteVersion notes a version.
func (s *Store) noteVersion(name string, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.floors[name] = max(s.floors[name], version)
	for other := range s.floors {
		if len(s.floors) <= maxFloors {
			return
		}
		delete(s.floors, other)
	}
}

// parseState reads a state that a script returns.
func (s *Store) parseState(name string, got reply) (q sequence, err error) {
	if len(got.texts) != 8 {
		return q, corrupt(s.key("seqmeta", name), fmt.Errorf("the script returned %d parts", len(got.texts)))
	}
	var epoch, skipped, total int64
	where := s.key("seqmeta", name)
	number := func(i int, into *int64) {
		if err == nil && got.texts[i] != "" {
			*into, err = got.int(i, where)
		}
	}
	number(1, &q.version)
	number(2, &q.step)
	number(3, &epoch)
	number(4, &skipped)
	where = s.key("server")
	number(6, &q.epoch)
	number(7, &total)
	where = s.key("seq", name)
	number(0, &q.value)
	if err != nil {
		return q, err
	}
	q.rawValue, q.rawVersion, q.mark, q.rawEpoch = got.texts[0], got.texts[1], got.texts[5], got.texts[6]
	q.exists = q.rawValue != ""
	if !q.exists && q.rawVersion != "" && epoch == q.epoch {
		return q, fmt.Errorf("redis: sequence %q: its value is missing: %w", name, store.ErrLost)
	}
	if !q.exists {
		q.version, skipped, epoch = 0, 0, q.epoch
	}
	if q.skip = total - skipped; q.skip < 0 || q.epoch < epoch {
		return q, corrupt(where, errors.New("it is ahead of the server that should give its numbers"))
	}
	if q.exists && q.rawVersion == "" { // another program has made it
		q.version = 1
	}
	q.version += (q.epoch - epoch) << epochShift
	return q, nil
}
