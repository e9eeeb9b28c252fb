// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/trace"
)

// askForConflicts lets the engine report the keys on which the attempt conflicts, and
// tells the operation of those of the attempt before.
func (t *transaction) askForConflicts(ctx context.Context, a kv.Attempt) error {
	if !t.db.explainsConflicts() {
		return nil
	}
	if a.Conflicts > 0 {
		t.operation.noteConflict(t.conflictsBefore(ctx))
	}
	return t.writer.SetOption(kv.OptionReportConflictingKeys, 0)
}

// explain adds to a conflict's error what others have changed.
func (t *transaction) explain(err error) error {
	if err == nil || !t.db.explainsConflicts() {
		return err
	}
	last := lastError(err)
	if last == nil || last.Code != kv.CodeNotCommitted {
		return err
	}
	e := &ConflictError{Err: err}
	for _, r := range last.Conflicts {
		e.Conflicts = append(e.Conflicts, t.describeConflict(r))
	}
	t.operation.noteConflict(e.Conflicts)
	if len(e.Conflicts) == 0 {
		return err
	}
	return e
}

// lastError returns the engine's error of the last attempt, or nil.
func lastError(err error) (last *kv.Error) {
	var gaveUp *kv.RetryError
	if errors.As(err, &gaveUp) {
		err = gaveUp.Last
	}
	errors.As(err, &last)
	return last
}

// conflictsBefore returns what others changed in the attempt before this one, which
// failed with a conflict.
func (t *transaction) conflictsBefore(ctx context.Context) (all []trace.Conflict) {
	ranger, err := kv.ConflictRangerOf(t.writer)
	if err != nil {
		return nil
	}
	ranges, err := ranger.ConflictingKeys(ctx)
	if err != nil {
		return nil // an explanation is no reason to fail
	}
	for _, r := range ranges {
		all = append(all, t.describeConflict(r))
	}
	return all
}

// describeConflict finds out what a range of keys is. It knows the stores that the
// attempt has opened, and those that the DB has cached.
func (t *transaction) describeConflict(r kv.KeyRange) trace.Conflict {
	for _, opened := range append([]openPlace{t.opened.first}, t.opened.more...) {
		if c, ok := opened.describeConflict(r); ok {
			return c
		}
	}
	for _, p := range t.db.places.all() {
		if c, ok := (openPlace{p, p.known.Load()}).describeConflict(r); ok {
			return c
		}
	}
	return trace.Conflict{Range: r}
}
