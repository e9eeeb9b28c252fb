// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv"
)

// ConflictRanges implements [kv.Transaction].
func (t belowTx) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	read, write, err = t.Transaction.ConflictRanges(ctx)
	return t.reads.space.ranges(read), t.reads.space.ranges(write), err
}

// ConflictingKeys implements [kv.Transaction].
func (t belowTx) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	ranges, err := t.Transaction.ConflictingKeys(ctx)
	return t.reads.space.ranges(ranges), err
}

// Commit implements [kv.Transaction].
func (t belowTx) Commit(ctx context.Context) error {
	return t.reads.space.conflict(t.Transaction.Commit(ctx))
}

// ranges returns the outer ranges of inner ones.
func (s space) ranges(inner []kv.KeyRange) (outer []kv.KeyRange) {
	for _, r := range inner {
		outer = append(outer, kv.KeyRange{Begin: s.out(r.Begin), End: s.out(r.End)})
	}
	return outer
}

// conflict gives the error of a commit the outer ranges. It changes the engine's error,
// which the engine must recognize when the caller passes it to OnError.
func (s space) conflict(err error) error {
	var e *kv.Error
	if errors.As(err, &e) && len(e.Conflicts) > 0 && bytes.HasPrefix(e.Conflicts[0].Begin, []byte(s.prefix)) {
		*e = *kv.NewConflictError(s.ranges(e.Conflicts))
	}
	return err
}
