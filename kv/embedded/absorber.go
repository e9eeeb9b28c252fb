// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

const (
	absorbEvery = 500 * time.Millisecond
	pressEvery  = 20 * time.Millisecond // while the window is larger than it should be

	// A round of absorbing ends with a version that the base has absorbed. Its
	// steps are bounded, so that commits do not wait for it.
	absorbRoundKeys   = 32 << 10
	absorbStepEntries = 1000
	absorbStepBytes   = 1 << 20
	absorbStepParts   = absorbRoundKeys / absorbStepEntries // of a run of cleared keys
)

// absorber moves what has become older than the window from there to the base,
// and drops the log that is needed no longer. Nothing else writes to the base.
// If the window grows too large, it does not wait for what is in it to become
// old: see pressure.
type absorber struct {
	base      *base.Base
	log       *commitlog.Log
	syncLog   func() error // of log; tests do more
	committer *committer
	journal   *journal
	fault     *fault.Fault
	stats     *stats
	age       int64 // in versions: what is older is moved
	flushAt   int64 // size of the log after which the base goes to the disk
	pressure  pressure

	flushed int64 // the absorbed version that is on the disk

	quit chan struct{}
	done chan struct{}
}

// maxSegments is after how many log files the base goes to the disk, however
// small they are.
const maxSegments = 16

// run absorbs from time to time, until stop.
func (a *absorber) run() {
	defer close(a.done)
	timer := time.NewTimer(absorbEvery)
	defer timer.Stop()
	for {
		select {
		case <-a.quit:
			return
		case <-a.fault.Raised():
			return
		case <-a.journal.wake:
		case <-timer.C:
		}
		if err := a.pass(); err != nil {
			_ = a.fault.Raise("moving commits to the base", err)
		}
		wait := absorbEvery
		if a.pressure.high() {
			wait = pressEvery
		}
		timer.Reset(wait)
	}
}

// stop ends run.
func (a *absorber) stop() {
	close(a.quit)
	<-a.done
}

func (a *absorber) stopped() bool {
	select {
	case <-a.quit:
		return true
	default:
		return a.fault.Get() != nil
	}
}

// pass absorbs all that is old enough, or that may not stay in memory, and
// shortens the log if that is worth it.
func (a *absorber) pass() error {
	old := a.horizon()
	a.committer.head.absorbed(0)
	if err := a.absorbTo(old); err != nil {
		return err
	}
	if a.pressure.high() && !a.stopped() {
		if err := a.relieve(old); err != nil {
			return err
		}
	}
	if a.stopped() {
		return nil
	}
	return a.shorten()
}

// relieve absorbs what is not old, as far as nobody needs it. Where those who
// need it are transactions that wait for room to commit, it lets them in.
func (a *absorber) relieve(old int64) error {
	read := a.pressure.horizon(old)
	waiting, some := a.committer.oldestWaiting()
	if err := a.absorbTo(min(read, waiting)); err != nil {
		return err
	}
	if some && a.pressure.high() && a.committer.head.viewed(waiting) <= read {
		a.pressure.relief.Store(true)
		a.committer.help()
	}
	return nil
}

// horizon returns the version up to which commits are old.
func (a *absorber) horizon() int64 {
	h := a.committer.head
	newest := h.newest().version // what is above it may not be on the disk
	return min(h.clock.version()-a.age, newest)
}

// absorbTo brings the commits up to horizon, which are published, to the base.
func (a *absorber) absorbTo(horizon int64) error {
	for more := true; more && !a.stopped(); {
		var groups []journalGroup
		if groups, more = a.committer.cut(horizon); len(groups) == 0 {
			return nil
		}
		begin := time.Now()
		if err := a.absorb(groups); err != nil {
			return err
		}
		writes, bytes := a.journal.settle(groups)
		a.stats.absorbed.Add(writes)
		a.committer.head.absorbed(bytes)
		a.stats.absorbTime.Add(int64(time.Since(begin)))
		a.committer.help() // commits may have waited for room
	}
	return nil
}

// absorb brings what groups have written to the base, where it has not been
// overwritten since.
func (a *absorber) absorb(groups []journalGroup) error {
	a.base.AwaitCompactions(a.quit)
	v, err := a.durableView()
	if err != nil {
		return err
	}
	horizon := groups[len(groups)-1].last
	a.base.RefuseReadersBelow(horizon)
	for rest := stretches(groups); len(rest) > 0; {
		done, left, err := a.step(v, rest, horizon)
		if err != nil {
			return err
		}
		for _, part := range done {
			a.committer.forget(part, horizon)
		}
		if a.stopped() {
			return nil
		}
		rest = left
	}
	b, err := a.base.NewBatch()
	if err == nil {
		err = b.Finish(horizon)
	}
	if err == nil {
		err = b.Apply()
	}
	if err == nil {
		a.base.SetAbsorbed(horizon)
	}
	return err
}

// durableView returns the newest view, and sees to it that all commits in it are
// on the disk. The view comes first: a commit that is in the view and not on the
// disk may have replaced older values, which the base would then never get, while
// a crash takes that commit from the log.
func (a *absorber) durableView() (*view, error) {
	v := a.committer.head.now.Load()
	return v, a.syncLog()
}

// step absorbs some entries of the first stretches. It returns what is done of
// them, in parts that commits can wait for, and what is left. There is more than
// one part where a run of cleared keys goes on, which is to become one range
// tombstone.
func (a *absorber) step(v *view, all []stretchOf, horizon int64) (done [][]stretchOf, left []stretchOf, err error) {
	b, err := a.base.NewBatch()
	if err != nil {
		return nil, nil, err
	}
	for more := true; more; more = len(all) > 0 && b.InRun() && len(done) < absorbStepParts && b.Size() < absorbStepBytes {
		var part []stretchOf
		if part, all, err = a.part(b, v, all, horizon); err != nil {
			b.Discard()
			return nil, nil, err
		}
		done = append(done, part)
	}
	return done, all, b.Apply()
}

// part is a part of a step.
func (a *absorber) part(b *base.Batch, v *view, all []stretchOf, horizon int64) (done, left []stretchOf, err error) {
	for budget := absorbStepEntries; len(all) > 0 && budget > 0 && b.Size() < absorbStepBytes; budget-- {
		seen, last, err := a.stretch(b, v, all[0], budget, horizon)
		if err != nil {
			return nil, nil, err
		}
		budget -= seen
		if last != nil {
			done = append(done, stretchOf{all[0].first, last})
			all[0].first = keys.Successor(last)
			break
		}
		done, all = append(done, all[0]), all[1:]
	}
	return done, all, nil
}

// stretch absorbs up to budget entries of a stretch and returns how many they
// were and, if more are left, the key of the last.
func (a *absorber) stretch(b *base.Batch, v *view, s stretchOf, budget int, horizon int64) (seen int, last []byte, err error) {
	var c btree.Cursor[entry]
	ok := c.Seek(&v.entries, s.first)
	for ok && bytes.Compare(c.Key(), s.last) <= 0 {
		if seen == budget || b.Size() >= absorbStepBytes {
			return seen, last, nil
		}
		key, e := c.Key(), *c.Value()
		var next []byte
		if ok = c.Next(); ok {
			next = c.Key()
		}
		if err := take(b, key, next, &e, horizon); err != nil {
			return seen, nil, err
		}
		last = key
		seen++
	}
	return seen, nil, nil
}

// take absorbs one entry and the gap behind it, which ends at next.
func take(b *base.Batch, key, next []byte, e *entry, horizon int64) error {
	point := e.point != unknown && e.version <= horizon
	gap := e.gap == absent && e.gapAt <= horizon
	if point && gap && e.point == absent {
		return b.RemoveRange(key, next)
	}
	if point && e.point == present {
		if err := b.Set(key, e.value); err != nil {
			return err
		}
	} else if point {
		if err := b.Remove(key); err != nil {
			return err
		}
	}
	if gap {
		return b.RemoveRange(keys.Successor(key), next)
	}
	return nil
}

// shorten brings the base to the disk and drops the log that it covers, once
// the log has become long.
func (a *absorber) shorten() error {
	absorbed := a.base.AbsorbedVersion()
	size, segments := a.log.Backlog()
	if size < a.flushAt && segments <= maxSegments || a.flushed == absorbed {
		return nil
	}
	ok, err := a.base.Flush(a.quit)
	if !ok || err != nil {
		return err
	}
	a.flushed = absorbed
	return a.log.Drop(absorbed)
}
