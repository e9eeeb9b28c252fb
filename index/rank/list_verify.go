// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// Position is how far a verification has come. The zero Position is its beginning.
type Position struct {
	Level   int    // the level that is compared with the next one
	Element []byte // the finger of the next level at which it goes on
}

// Verify compares up to limit fingers of a level with the level below: that there is a
// finger for each element of its height, and for no other, and that its count is true.
// It returns where to go on, and done after the last level. So a list of any length is
// verified in several transactions; each finger is compared at one version.
// A fault is a *[CountError].
//
// Cost: two rounds of reads, and more for a limit above a hundred.
func (l *List) Verify(ctx context.Context, tx kv.ReadTransaction, at Position, limit int) (next Position, done bool, err error) {
	level := at.Level + 1
	fingers, more, err := l.fingers(ctx, tx, level, at.Element, max(limit, 1))
	if err != nil {
		return at, false, err
	}
	next = Position{Level: level}
	if len(fingers) == 0 && len(at.Element) > 0 {
		return next, level == Top, nil // at.Element was the last one, and has been erased since
	}
	v := verification{list: l, level: level}
	r := l.from(at.Level, at.Element)
	if len(at.Element) > 0 {
		r.Begin = l.key(at.Level, fingers[0].element)
	}
	if more {
		last := len(fingers) - 1
		next = Position{Level: at.Level, Element: fingers[last].element}
		fingers, r.End = fingers[:last], l.key(at.Level, next.Element)
	}
	v.below = l.start(tx, at.Level, r, false, lookupRun)
	if err := v.compare(ctx, fingers); err != nil {
		return at, false, err
	}
	return next, next.Level == Top, nil
}

// fingers returns fingers of a level from one on, up to limit and the next one, with more
// set if that is there. From the beginning, the first is the empty one.
func (l *List) fingers(ctx context.Context, tx kv.ReadTransaction, level int, element []byte, limit int) (all []finger, more bool, err error) {
	c := l.start(tx, level, l.from(level, element), false, limit+1)
	for {
		f, found, err := c.next(ctx)
		if err != nil || !found {
			return all, false, err
		}
		if len(all) == 0 && len(element) == 0 && len(f.element) > 0 {
			all = append(all, finger{})
		}
		if all = append(all, f); len(all) > limit {
			return all, true, nil
		}
	}
}

// verification compares fingers of a level with the level below.
type verification struct {
	list  *List
	level int
	below *cursor
}

// compare compares the fingers with what the level below has between them.
func (v *verification) compare(ctx context.Context, fingers []finger) error {
	var f finger
	var sum int64
	if len(fingers) > 0 {
		f, fingers = fingers[0], fingers[1:]
	}
	for {
		g, found, err := v.below.next(ctx)
		if err != nil {
			return err
		}
		if found && (Height(g.element) < v.level || bytes.Equal(g.element, f.element)) {
			sum += g.count
			continue
		}
		if f.count != sum {
			return v.fault(f, fmt.Sprintf("it counts %d elements, the level below %d", f.count, sum))
		}
		if !found {
			break
		}
		if len(fingers) == 0 || !bytes.Equal(fingers[0].element, g.element) {
			return v.fault(g, "it is missing")
		}
		f, fingers, sum = fingers[0], fingers[1:], g.count
	}
	if len(fingers) > 0 {
		return v.fault(fingers[0], "there is no such element on the level below")
	}
	return nil
}

func (v *verification) fault(f finger, reason string) error {
	return &CountError{Key: v.list.key(v.level, f.element), Reason: reason}
}
