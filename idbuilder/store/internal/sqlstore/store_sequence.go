// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

const (
	selectSequence = "SELECT current_value, version FROM id_sequences WHERE key_name = ? AND " + Guard
	insertSequence = "INSERT INTO id_sequences (key_name, current_value, version) SELECT ?, ?, 1 FROM id_state WHERE name = 'revision' AND " + Guard
	adoptSequence  = "UPDATE id_sequences SET version = 1 WHERE key_name = ? AND version = 0 AND " + Guard
	updateSequence = "UPDATE id_sequences SET current_value = ?, version = version + 1, updated_at = CURRENT_TIMESTAMP WHERE key_name = ? AND version = ? AND " + Guard
	deleteSequence = "DELETE FROM id_sequences WHERE key_name = ? AND " + Guard
)

// Reserve implements [store.Store].
func (s *Store) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	if err := errors.Join(store.CheckName(name), r.Validate()); err != nil {
		return store.Range{}, err
	}
	return do(ctx, s, "reserve", func(ctx context.Context) (store.Range, error) {
		unlock, err := s.busy.lock(ctx, name)
		if err != nil {
			return store.Range{}, err
		}
		defer unlock()
		if got, err := s.reserveAtOnce(ctx, name, r); err != nil || got.Version > 0 {
			return got, err
		}
		return s.reserveByComparing(ctx, name, r)
	})
}

// reserveAtOnce moves a sequence in one statement, if it exists and all numbers
// fit. Otherwise the range that it returns has the version 0.
func (s *Store) reserveAtOnce(ctx context.Context, name string, r store.Reservation) (got store.Range, err error) {
	distance, lowest, highest, possible := window(r)
	if s.dialect.Reserve == "" || !possible {
		return got, nil
	}
	err = s.server.Query(ctx, func(scan func(...any) error) error {
		return scan(&got.To, &got.Version)
	}, s.dialect.Reserve, distance, name, lowest, highest, s.newest())
	if err != nil {
		return store.Range{}, err
	}
	got.From = got.To - distance
	return got, nil
}

// window returns how far a reservation moves a sequence, and from which values it does
// not pass the bound. It is not possible if one of these is not an int64.
func window(r store.Reservation) (distance, lowest, highest int64, possible bool) {
	distance = r.Step * r.Count
	if distance/r.Count != r.Step {
		return 0, 0, 0, false
	}
	edge := r.Bound - distance
	if r.Step > 0 {
		return distance, math.MinInt64, edge, edge < r.Bound
	}
	return distance, edge, math.MaxInt64, edge > r.Bound
}

// reserveByComparing reads the sequence and replaces it if it has not changed, until that succeeds.
func (s *Store) reserveByComparing(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	for attempt := 0; ; attempt++ {
		from, err := s.sequence(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			from, err = store.Sequence{Value: r.Start}, nil
		}
		if err != nil {
			return store.Range{}, err
		}
		to, err := r.Advance(from.Value)
		if err != nil {
			return store.Range{}, err
		}
		err = s.compareAndSet(ctx, name, to, from.Version)
		if err == nil {
			return store.Range{From: from.Value, To: to, Version: from.Version + 1}, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return store.Range{}, err
		}
		if err := backoff(ctx, min(attempt, 3)); err != nil {
			return store.Range{}, err
		}
	}
}

// sequence returns the state of a sequence. A row that another program has made
// may have the version 0, the column's default; it gets the version 1.
func (s *Store) sequence(ctx context.Context, name string) (store.Sequence, error) {
	for {
		q, found, err := s.readSequence(ctx, name)
		switch {
		case err != nil || q.Version > 0:
			return q, err
		case !found:
			return q, s.explainNone(ctx, s.server, store.ErrNotFound)
		}
		if _, err := s.server.Exec(ctx, adoptSequence, name, s.newest()); err != nil {
			return q, err
		}
	}
}

func (s *Store) readSequence(ctx context.Context, name string) (q store.Sequence, found bool, err error) {
	err = s.server.Query(ctx, func(scan func(...any) error) error {
		found = true
		return scan(&q.Value, &q.Version)
	}, selectSequence, name, s.newest())
	return q, found, err
}

// compareAndSet sets the value of a sequence if it still has the version; 0 stands for
// a sequence that does not exist.
func (s *Store) compareAndSet(ctx context.Context, name string, value, version int64) (err error) {
	var rows int64
	if version == 0 {
		rows, err = s.server.Exec(ctx, insertSequence, name, value, s.newest())
	} else {
		rows, err = s.server.Exec(ctx, updateSequence, value, name, version, s.newest())
	}
	if err == nil && rows == 0 {
		err = s.explainNone(ctx, s.server, store.ErrConflict)
	}
	return err
}

// Sequence implements [store.Store].
func (s *Store) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	if err := store.CheckName(name); err != nil {
		return store.Sequence{}, err
	}
	return do(ctx, s, "sequence", func(ctx context.Context) (store.Sequence, error) {
		return s.sequence(ctx, name)
	})
}

// SetSequence implements [store.Store].
func (s *Store) SetSequence(ctx context.Context, name string, value, version int64) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	_, err := do(ctx, s, "set sequence", func(ctx context.Context) (none struct{}, err error) {
		return none, s.compareAndSet(ctx, name, value, version)
	})
	return err
}

// DeleteSequence implements [store.Store].
func (s *Store) DeleteSequence(ctx context.Context, name string) (found bool, err error) {
	if err := store.CheckName(name); err != nil {
		return false, err
	}
	return do(ctx, s, "delete sequence", func(ctx context.Context) (bool, error) {
		rows, err := s.server.Exec(ctx, deleteSequence, name, s.newest())
		if err == nil && rows == 0 {
			err = s.explainNone(ctx, s.server, nil)
		}
		return rows > 0, err
	})
}
