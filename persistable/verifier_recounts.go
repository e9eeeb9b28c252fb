// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/tuple"
)

// recountBesideWriters counts anew in indexes of their own, the recounts, compares them
// with the counts and sums, and removes them. All programs maintain recounts as they
// maintain any index that is being built, so at each version both should be the same.
//
// After an interruption another call goes on with the recounts that it finds, whatever
// state they are in. Calls of several processes share them. Where another call has
// removed them before this one has compared all, it makes them again.
func (v *verifier) recountBesideWriters(ctx context.Context) error {
	if v.cursor.position == nil {
		v.startCompare(0, nil)
	}
	for range maxRecounts {
		if err := v.buildRecounts(ctx); err != nil {
			return v.skipIfLocked(err)
		}
		lost, err := v.compareRecounts(ctx)
		if err != nil {
			return err
		}
		if !lost {
			return v.removeRecounts(ctx)
		}
	}
	return fmt.Errorf("persistable: %s: other programs keep removing the recounts of its counts and sums: verify in one program at a time", v.record.Type)
}

// maxRecounts is how often recounts are made again.
const maxRecounts = 10

// buildRecounts completes the recounts of all counts and sums that are readable. It adds
// those that are missing.
func (v *verifier) buildRecounts(ctx context.Context) error {
	if err := v.changeRecounts(ctx, func(next *format.Catalog, d *index.Definition) { next.AddRecount(d) }); err != nil {
		return err
	}
	build.Reach(ctx, build.Recounting)
	o := v.options.Build.internal(v.place.db.options.BuildBatch)
	o.Begins = func(d *index.Definition) bool {
		_, recounts := index.CutRecount(d.KeyName())
		return recounts
	}
	for found := true; found; {
		var err error
		if found, err = build.NewRun(buildStore{v.source}, o).Build(ctx); err != nil {
			return err
		}
	}
	return nil
}

// removeRecounts removes the recounts.
func (v *verifier) removeRecounts(ctx context.Context) error {
	build.Reach(ctx, build.Compared)
	return v.changeRecounts(ctx, func(next *format.Catalog, d *index.Definition) { next.RemoveRecount(d) })
}

// removeLeftovers removes the recounts that an interrupted verification has left, unless the
// options exclude that, or the store is locked. Another verification that uses them makes
// them again.
func (v *verifier) removeLeftovers(ctx context.Context) error {
	left := false
	err := v.place.db.readOnly(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, v.place)
		left = err == nil && o != nil && len(o.catalog.LostRecounts(&format.Catalog{})) > 0
		return err
	})
	if err != nil || !left || v.options.NoRecount {
		return err
	}
	var locked *LockedError
	if err = v.removeRecounts(ctx); errors.As(err, &locked) {
		return nil
	}
	return err
}

// changeRecounts changes the header for each count and sum.
func (v *verifier) changeRecounts(ctx context.Context, change func(*format.Catalog, *index.Definition)) error {
	return v.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, v.place)
		if err != nil || o == nil {
			return err
		}
		next := o.catalog.Clone()
		for _, d := range v.place.definitions {
			if d.Kind.HasTotals() {
				change(next, d)
			}
		}
		if next.Equal(o.catalog) {
			return nil
		}
		return t.changeCatalog(ctx, v.place, o, next)
	})
}

// skipIfLocked reports all counts and sums as skipped if err says that the store is
// locked: nothing can be counted anew there.
func (v *verifier) skipIfLocked(err error) error {
	var locked *LockedError
	if !errors.As(err, &locked) || v.options.Repair {
		return err
	}
	v.skipTotals()
	return nil
}

// skipTotals reports all counts and sums as skipped.
func (v *verifier) skipTotals() {
	var part Report
	for _, d := range v.place.definitions {
		if d.Kind.HasTotals() {
			part.Skipped = append(part.Skipped, d.KeyName())
		}
	}
	v.addPart(part)
}

// startCompare makes index i the next one whose entries are compared, behind the one whose
// key has after behind the prefix. The position of the verifier is (the index's name, after);
// the name is empty behind the last index.
func (v *verifier) startCompare(i int, after []byte) {
	name := ""
	if i < len(v.record.Indexes) {
		name = v.record.Indexes[i].KeyName()
	}
	v.cursor.position = append(tuple.AppendString(nil, name), after...)
}

// comparePosition is the inverse of startCompare.
func (v *verifier) comparePosition() (i int, after []byte, err error) {
	name, after, err := tuple.ReadString(v.cursor.position)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	if name == "" {
		return len(v.record.Indexes), nil, nil
	}
	i, err = v.findIndex(name)
	return i, after, err
}

// compareRecounts compares all recounts, from the verifier's position on. It reports true
// if one is not there.
func (v *verifier) compareRecounts(ctx context.Context) (lost bool, err error) {
	for {
		i, after, err := v.comparePosition()
		switch {
		case err != nil || i == len(v.record.Indexes):
			return false, err
		case !v.record.Indexes[i].Kind.HasTotals():
			v.startCompare(i+1, nil)
			continue
		}
		if lost, err := v.compareBatch(ctx, i, after); lost || err != nil {
			return lost, err
		}
	}
}
