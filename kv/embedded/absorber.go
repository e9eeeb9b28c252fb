// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"math"
	"time"
)

const (
	absorbEvery = 500 * time.Millisecond

	// A step of absorbing is bounded, so that commits do not wait for it.
	absorbStepEntries = 1000
	absorbStepBytes   = 1 << 20
)

// absorber moves what has become older than the window from there to the base,
// and drops the log that is needed no longer. Nothing else writes to the base.
type absorber struct {
	base      *base
	log       *log
	committer *committer
	fault     *fault
	age       int64 // in versions: what is older is moved
	flushAt   int64 // size of the log after which the base goes to the disk

	flushed int64 // the absorbed version that is on the disk
	oldest  int64 // nothing in the window is older

	quit chan struct{}
	done chan struct{}
}

// maxSegments is after how many log files the base goes to the disk, however
// small they are.
const maxSegments = 16

// run absorbs from time to time, until stop.
func (a *absorber) run() {
	defer close(a.done)
	ticker := time.NewTicker(absorbEvery)
	defer ticker.Stop()
	for {
		select {
		case <-a.quit:
			return
		case <-a.fault.raised:
			return
		case <-ticker.C:
		}
		if err := a.pass(); err != nil {
			_ = a.fault.raise("moving commits to the base", err)
		}
	}
}

// stop ends run, unless that hangs in a base that has failed.
func (a *absorber) stop() {
	close(a.quit)
	select {
	case <-a.done:
	case <-a.base.failed:
	}
}

func (a *absorber) stopped() bool {
	select {
	case <-a.quit:
		return true
	default:
		return a.fault.get() != nil
	}
}

// pass absorbs all that is old enough, and shortens the log if that is worth it.
func (a *absorber) pass() error {
	v := a.committer.head.newest()
	horizon := v.version - a.age
	if horizon > a.base.absorbed && a.oldest <= horizon {
		if err := a.absorb(v, horizon); err != nil || a.stopped() {
			return err
		}
	}
	return a.shorten()
}

// absorb brings the commits up to horizon, which view v holds, to the base.
func (a *absorber) absorb(v *view, horizon int64) error {
	// What lies in the base must not be ahead of a log that a crash cuts off.
	if err := a.log.sync(); err != nil {
		return err
	}
	a.base.horizon.Store(horizon)
	var c cursor[entry]
	a.oldest = math.MaxInt64
	for more := c.seek(&v.entries, nil); more; {
		begin := c.key()
		var err error
		if more, err = a.step(&c, horizon); err != nil {
			return err
		}
		var end []byte
		if more {
			end = c.key()
		}
		a.committer.forget(begin, end, horizon)
		if a.stopped() {
			return nil
		}
	}
	if a.oldest == math.MaxInt64 {
		a.oldest = v.version + 1
	}
	b, err := a.base.newBatch()
	if err == nil {
		err = b.finish(horizon)
	}
	if err == nil {
		err = b.apply()
	}
	if err == nil {
		a.base.absorbed = horizon
	}
	return err
}

// step absorbs some entries, and reports whether there are more.
func (a *absorber) step(c *cursor[entry], horizon int64) (more bool, err error) {
	b, err := a.base.newBatch()
	if err != nil {
		return false, err
	}
	more = true
	for n := 0; more && n < absorbStepEntries && b.size() < absorbStepBytes; n++ {
		key, e := c.key(), *c.val()
		more = c.next()
		var next []byte
		if more {
			next = c.key()
		}
		if err := a.take(b, key, next, &e, horizon); err != nil {
			b.release()
			return false, err
		}
	}
	return more, b.apply()
}

// take absorbs one entry and the gap behind it, which ends at next.
func (a *absorber) take(b *baseBatch, key, next []byte, e *entry, horizon int64) error {
	point := e.point != unknown && a.old(e.version, horizon)
	gap := e.gap == absent && a.old(e.gapAt, horizon)
	if point && gap && e.point == absent {
		return b.removeRange(key, next)
	}
	if point && e.point == present {
		if err := b.set(key, e.value); err != nil {
			return err
		}
	} else if point {
		if err := b.remove(key); err != nil {
			return err
		}
	}
	if gap {
		return b.removeRange(successor(key), next)
	}
	return nil
}

// old reports whether a write is to be absorbed, and remembers the oldest that
// is not.
func (a *absorber) old(version, horizon int64) bool {
	if version > horizon {
		a.oldest = min(a.oldest, version)
		return false
	}
	return true
}

// shorten brings the base to the disk and drops the log that it covers, once
// the log has become long.
func (a *absorber) shorten() error {
	size, segments := a.log.backlog()
	if size < a.flushAt && segments <= maxSegments || a.flushed == a.base.absorbed {
		return nil
	}
	absorbed := a.base.absorbed
	ok, err := a.base.flush(a.quit)
	if !ok || err != nil {
		return err
	}
	a.flushed = absorbed
	return a.log.drop(absorbed)
}
