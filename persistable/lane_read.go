// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// laneRead is the read of one of several ranges of a plan.
type laneRead struct {
	number  int // in the order of the plan
	plan    plan
	ix      *index.Index
	read    scan.Range
	pairs   []kv.KeyValue // read, and not taken
	matched bool          // an entry of the last batch was in the other lane of an intersection, too
	next    func() ([]kv.KeyValue, error, bool)
	stop    func()
	ended   bool
}

// head returns what the next pair is ordered by: its key behind the values with
// equality.
func (l *laneRead) head() []byte {
	return l.read.Position(l.pairs[0].Key)[len(l.plan.Bounds.EqualValues()):]
}

// isDry reports whether the next pair must be read.
func (l *laneRead) isDry() bool { return len(l.pairs) == 0 && !l.ended }

// fill reads the next batch, if the next pair is not there.
func (l *laneRead) fill(ctx context.Context, t *transaction) error {
	for l.isDry() {
		if l.next == nil {
			l.next, l.stop = iter.Pull2(l.read.Batches(ctx, &t.Transaction))
		}
		pairs, err, ok := l.next()
		if err != nil {
			return err
		}
		l.pairs, l.ended, l.matched = pairs, !ok, false
	}
	return nil
}

// take takes the next pair.
func (l *laneRead) take() kv.KeyValue {
	pair := l.pairs[0]
	l.pairs = l.pairs[1:]
	return pair
}

// skipTo begins the read again at the entry of an id, or at the next one. All entries
// of the lane have the same values; those before the id need not be read.
func (l *laneRead) skipTo(t *transaction, id []byte, reverse bool) {
	l.close()
	l.next, l.read = nil, l.read.Restarted(l.startingAt(id, reverse))
	l.read.Start(&t.Transaction)
}

// startingAt returns the bounds of the lane from an entry on, which is told by what is behind
// the values with equality.
func (l *laneRead) startingAt(head []byte, reverse bool) index.Bounds {
	position := slices.Concat(l.plan.Bounds.EqualValues(), head)
	if reverse {
		return l.plan.Bounds.Resume(kv.Successor(position), true)
	}
	return l.plan.Bounds.StartAt(position)
}

// resumeMerged narrows one of several merged lanes to what is behind a position: an
// entry at the position's key is behind it if its lane is.
func (l *laneRead) resumeMerged(at lanePosition, reverse bool) {
	if at.isBehind(l.number, reverse) {
		l.plan.Bounds = l.startingAt(at.key, reverse)
		return
	}
	b := &l.plan.Bounds
	*b = b.Resume(slices.Concat(b.EqualValues(), at.key), reverse)
}

func (l *laneRead) close() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}
