// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// run runs a pass. A batch that takes longer than a version can be read is halved. A unit
// that cannot be read even so is reported, and left out: whole is false then.
func (x *examination) run(ctx context.Context, p pass) (whole bool, err error) {
	whole = true
	for most, failed := batchUnits, 0; p.at != nil; {
		next, fit, err := x.runBatch(ctx, &p, most)
		if most = min(fit+fit/4+1, batchUnits); err == nil {
			p.at, failed = next, 0
			continue
		}
		whole = false
		failed++
		if err := x.leaveOut(ctx, &p, failed, err); err != nil {
			return false, err
		}
	}
	return whole, nil
}

func (x *examination) runBatch(ctx context.Context, p *pass, most int) (next []byte, fit int, err error) {
	fit, err = x.readUnits(ctx, most, func(b *batch) error {
		next = nil
		there, err := p.isThere(ctx, b)
		if err != nil || !there {
			return err
		}
		next, err = p.examine(ctx, b, p.at)
		return err
	})
	return next, fit, err
}

// mostLeftOut is how many units in a row are left out before the rest of a pass is.
const mostLeftOut = 100

// leaveOut reports the first unit, or all that is left, and moves behind it. It returns the
// cause if that is not that reading takes too long.
func (x *examination) leaveOut(ctx context.Context, p *pass, failed int, cause error) error {
	if !isTooSlow(cause) {
		return cause
	}
	at := p.at
	p.at = nil
	if p.first == nil || failed > mostLeftOut {
		x.addNotExamined(p.notExamined(nil, "the rest of %s cannot be read: %v", p.name, cause))
		return nil
	}
	var unit kv.KeyRange
	err := x.read(ctx, func(b *batch) (err error) {
		unit, err = p.first(ctx, b, at)
		return err
	})
	switch {
	case isTooSlow(err):
		x.addNotExamined(p.notExamined(at, "the rest of %s, from this key on, cannot be read: %v", p.name, err))
		return nil
	case err == nil && unit.Begin != nil:
		p.at = unit.End
		x.addNotExamined(p.notExamined(unit.Begin, "it, or what it refers to, cannot be read: %v", cause))
	}
	return err
}

// addNotExamined reports what cannot be read.
func (x *examination) addNotExamined(f Finding) {
	x.leftOut++
	x.add(f)
}

// mostAttempts is how often a single unit is read before it is left out.
const mostAttempts = 4
