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

// maxFloors bounds the remembered versions: those of sequences of a past period are
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

// Scripts of sequences get the value as KEYS[3] and the hash as KEYS[4].

// state returns the raw state of a sequence, ” for what is missing: value,
// version, step, epoch, skipped and mark, then epoch and skipped of the server.
const state = `
local function state(status)
  local q = redis.call('HMGET', KEYS[4], 'version', 'step', 'epoch', 'skipped', 'mark')
  local server = redis.call('HMGET', KEYS[2], 'epoch', 'skipped')
  return {status, redis.call('GET', KEYS[3]) or '', q[1] or '', q[2] or '', q[3] or '', q[4] or '', q[5] or '', server[1] or '', server[2] or ''}
end
`

var sequenceScript = readScript(state + `return state('ok')`)

// reserveScript adds ARGV[3], which is the step ARGV[4] times the count, to a
// sequence: {'ok', value, version}. ARGV[5] is the last value from which that
// stays within the bound, ” if there is none. ARGV[6] is a version that the client has
// seen, '0' if it has seen none, and ARGV[7] the epoch of that version: if the sequence has
// gone back in the same epoch, this Redis has lost data, unless ARGV[8] is '1': then the sequence
// may have been removed, and only this call is refused. In all other cases the script returns the
// state to the client: {'state', …}.
var reserveScript = writeScript(state + `
local value, epoch = redis.call('GET', KEYS[3]), redis.call('HGET', KEYS[2], 'epoch')
local q = redis.call('HMGET', KEYS[4], 'version', 'step', 'epoch')
local lost = ARGV[7] == epoch and ARGV[6] ~= '0'
if q[1] then lost = q[3] == epoch and (not value or less(q[1], ARGV[6])) end
if lost then
  if ARGV[8] ~= '1' then redis.call('HSET', KEYS[2], 'identity', 'lost') end
  return {'lost'}
end
if not value or not q[1] or q[3] ~= epoch or ARGV[5] == '' or not (value == '0' or string.match(value, '^-?[1-9]%d*$')) then
  return state('state')
end
local beyond = less(ARGV[5], value) or less(value, '-9223372036854775808')
if string.sub(ARGV[4], 1, 1) == '-' then beyond = less(value, ARGV[5]) or less('9223372036854775807', value) end
if beyond then return state('state') end
redis.call('INCRBY', KEYS[3], ARGV[3])
redis.call('HINCRBY', KEYS[4], 'version', 1)
if q[2] ~= ARGV[4] then redis.call('HSET', KEYS[4], 'step', ARGV[4]) end
return {'ok', redis.call('GET', KEYS[3]), redis.call('HGET', KEYS[4], 'version')}
`)

// replaceScript sets a sequence, if value and version are still ARGV[3] and
// ARGV[4], and the server's epoch ARGV[5]: to the value ARGV[6], the version ARGV[7], the
// step ARGV[8] if it is not ”, and the mark ARGV[9]. Otherwise it returns {'changed'}.
var replaceScript = writeScript(`
local server = redis.call('HMGET', KEYS[2], 'epoch', 'skipped')
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[3] or (redis.call('HGET', KEYS[4], 'version') or '') ~= ARGV[4] or (server[1] or '') ~= ARGV[5] then
  return {'changed'}
end
redis.call('SET', KEYS[3], ARGV[6])
redis.call('HSET', KEYS[4], 'version', ARGV[7], 'epoch', server[1], 'skipped', server[2], 'mark', ARGV[9])
if ARGV[8] ~= '' then redis.call('HSET', KEYS[4], 'step', ARGV[8]) end
return {'ok'}
`)

// deleteSequenceScript removes a sequence: {'ok', how many of its keys there were}.
var deleteSequenceScript = writeScript(`return {'ok', tostring(redis.call('DEL', KEYS[3], KEYS[4]))}`)

// sequence is the state of a sequence as scripts report it, with the confirmations that
// were not yet applied to it.
type sequence struct {
	rawValue, rawVersion, rawEpoch string // for the comparison; the epoch is the server's

	exists  bool
	value   int64 // as stored
	version int64 // 0 if it does not exist
	step    int64 // of the last reservation; 0 if it is not known
	epoch   int64 // of the server
	skip    int64 // steps that confirmations skip and this sequence has not skipped yet
	mark    string
}

// startValue returns the value of the sequence, or the start of r if it does not exist,
// plus the numbers to skip.
func (q sequence) startValue(r store.Reservation) int64 {
	at, step, bound := q.value, q.step, int64(math.MaxInt64)
	if !q.exists {
		at, step = r.Start, r.Step
	}
	if step == 0 {
		step = r.Step
	}
	if step < 0 {
		bound = math.MinInt64
	}
	if q.skip > 0 { // after an error, at is the end of int64
		at, _ = store.Reservation{Step: step, Count: q.skip, Bound: bound}.Advance(at)
	}
	return at
}

// nextVersion returns the version of the next change.
func (q sequence) nextVersion() int64 {
	if !q.exists {
		return q.epoch<<epochShift + 1
	}
	return q.version + 1
}
