// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"errors"
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// sequence is the state of a sequence as scripts report it, and what it means
// after the confirmations that it has not yet seen.
type sequence struct {
	rawValue, rawVersion, rawEpoch string // for the comparison; the epoch is the server's

	exists  bool
	value   int64 // as stored
	version int64 // 0 if it does not exist
	step    int64 // of the last reservation; 0 if it is not known
	epoch   int64 // of the server
	skip    int64 // steps that confirmations skip and this sequence has not yet
	mark    string
}

// parse reads what state of a script returns.
func (s *Store) parse(name string, got reply) (q sequence, err error) {
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
		return q, corrupt(where, errors.New("it is ahead of the server that is to give its numbers"))
	}
	if q.exists && q.rawVersion == "" { // made by another program
		q.version = 1
	}
	q.version += (q.epoch - epoch) << epochShift
	return q, nil
}

// current returns the value, or, of a sequence that does not exist, where r
// begins; behind what is to be skipped.
func (q sequence) current(r store.Reservation) int64 {
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
	if q.skip > 0 { // an error says that the end of int64 is reached: at stays there
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
