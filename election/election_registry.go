// SPDX-License-Identifier: Apache-2.0

package election

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Standby is a candidate that is registered and does not lead.
type Standby struct {
	Candidate string
	Priority  int32
}

// registration is what a standby writes about itself. It writes it at each
// look, with another number, so that the leader sees that it is alive.
type registration struct {
	Standby
	member string // a random name
	beats  int64
}

// registrationFormat is the first element of a registration's value.
const registrationFormat = 1

func (r registration) key(prefix []byte) []byte {
	return tuple.AppendString(tuple.AppendInt(bytes.Clone(prefix), -int64(r.Priority)), r.member)
}

// value returns (format, owner, beats).
func (r registration) value() []byte {
	return tuple.AppendInt(tuple.AppendString(tuple.AppendInt(nil, registrationFormat), r.Candidate), r.beats)
}

// decodeRegistration reads a pair below the prefix.
func decodeRegistration(prefix []byte, pair kv.KeyValue) (r registration, err error) {
	priority, rest, err := tuple.ReadInt(bytes.TrimPrefix(pair.Key, prefix))
	if err == nil {
		r.member, _, err = tuple.ReadString(rest)
	}
	if err != nil {
		return r, fmt.Errorf("election: the key %x of a standby cannot be read: %w", pair.Key, err)
	}
	rest, err = newer.ReadFormat(pair.Value, registrationFormat)
	if err == nil {
		r.Candidate, rest, err = tuple.ReadString(rest)
	}
	if err == nil {
		r.beats, _, err = tuple.ReadInt(rest)
	}
	if err != nil {
		return r, fmt.Errorf("election: the value of the standby at %x cannot be read: %w", pair.Key, err)
	}
	r.Priority = int32(-priority)
	return r, nil
}

// DecodeStandby reads a pair of the directory of elections: what follows ("S", name) in
// the key, and the value.
func DecodeStandby(rest, value []byte) (Standby, error) {
	r, err := decodeRegistration(nil, kv.KeyValue{Key: rest, Value: value})
	return r.Standby, err
}

// letterStandby is the letter of registrations in the directory, next to those of
// leasefdb: (letter, name, -priority, member), so that the highest priority comes first.
const letterStandby = "S"

// registrations returns the prefix of the registrations.
func (e *Election) registrations(d *directory.Directory) ([]byte, error) {
	prefix, err := d.Prefix()
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(prefix)+len(e.name)+64), prefix...)
	return tuple.AppendString(tuple.AppendString(b, letterStandby), e.name), nil
}

// registrationKeys returns the keys under what registrations returns. A key goes on with an
// integer; 0xff continues a name with a zero byte, which is that of another election.
func registrationKeys(prefix []byte) kv.KeyRange {
	return kv.KeyRange{Begin: prefix, End: append(slices.Clone(prefix), 0xff)}
}

// Standbys returns the candidates that are registered and do not lead, the
// highest priority first. A dead one is listed until the leader has not seen it
// renewed for a lease, and at most two of the leader's renewals longer. Given a
// transaction, it reads in that. If registrations cannot be read it returns the others, and
// an error of each, joined.
func (e *Election) Standbys(ctx context.Context, t kv.ReadTransactor) ([]Standby, error) {
	var unread []error
	all, err := kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (all []Standby, err error) {
		unread = nil
		d, err := e.dirs.OpenRead(ctx, tx, e.options.Path)
		if errors.Is(err, directory.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		prefix, err := e.registrations(d)
		if err != nil {
			return nil, err
		}
		pairs, err := tx.GetRange(registrationKeys(prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
		for _, pair := range pairs {
			r, err := decodeRegistration(prefix, pair)
			if err != nil {
				unread = append(unread, err)
				continue
			}
			all = append(all, r.Standby)
		}
		return all, err
	})
	return all, errors.Join(append(unread, err)...)
}

// register writes the registration in tx, and reports whether one of higher priority is
// there.
func (e *Election) register(ctx context.Context, tx kv.Transaction, r registration) (outranked bool, err error) {
	d, err := e.dirs.CreateOrOpen(ctx, tx, e.options.Path)
	if err != nil {
		return false, err
	}
	prefix, err := e.registrations(d)
	if err != nil {
		return false, err
	}
	tx.Set(r.key(prefix), r.value())
	first := registrationKeys(prefix).Selectors()
	pairs, err := tx.Snapshot().GetRange(first, kv.RangeOptions{Limit: 1}).Slice(ctx)
	if err != nil || len(pairs) == 0 {
		return false, err
	}
	priority, _, err := tuple.ReadInt(pairs[0].Key[len(prefix):])
	return err == nil && -priority > int64(r.Priority), nil // a key that cannot be read has no priority
}

// unregister clears the registration in tx.
func (e *Election) unregister(ctx context.Context, tx kv.Transaction, r registration) error {
	d, err := e.dirs.CreateOrOpen(ctx, tx, e.options.Path)
	if err != nil {
		return err
	}
	prefix, err := e.registrations(d)
	if err != nil {
		return err
	}
	tx.Clear(r.key(prefix))
	return nil
}

// sweepRegistrations removes registrations of dead standbys, and returns how
// many are left. It is a transaction of its own, under the term.
func (e *Election) sweepRegistrations(ctx context.Context, term Term, s *sweeper) (left int, err error) {
	var pairs []kv.KeyValue
	err = e.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := e.dirs.OpenRead(ctx, tx, e.options.Path)
		if err != nil {
			return err
		}
		prefix, err := e.registrations(d)
		if err != nil {
			return err
		}
		pairs, err = tx.GetRange(registrationKeys(prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	dead := s.findDead(pairs, time.Now(), e.options.Duration)
	if len(dead) == 0 {
		return len(pairs), nil
	}
	return len(pairs) - len(dead), term.Under(e.db).Transact(ctx, func(tx kv.Transaction) error {
		for _, pair := range dead {
			if value, err := tx.Get(pair.Key).Get(ctx); err != nil {
				return err
			} else if bytes.Equal(value, pair.Value) {
				tx.Clear(pair.Key)
			}
		}
		return nil
	})
}

// sweeper finds registrations that are not renewed any more. The leader has one.
type sweeper struct {
	seen map[string]valueSince // by key
}

// valueSince is the value of a registration, and since when it is unchanged.
type valueSince struct {
	value []byte
	since time.Time
}

// findDead remembers the registrations and returns those that have not changed
// for patience.
func (s *sweeper) findDead(pairs []kv.KeyValue, now time.Time, patience time.Duration) (dead []kv.KeyValue) {
	present := make(map[string]valueSince, len(pairs))
	for _, pair := range pairs {
		before, known := s.seen[string(pair.Key)]
		if !known || !bytes.Equal(before.value, pair.Value) {
			before = valueSince{pair.Value, now}
		}
		present[string(pair.Key)] = before
		if now.Sub(before.since) >= patience {
			dead = append(dead, pair)
		}
	}
	s.seen = present
	return dead
}
