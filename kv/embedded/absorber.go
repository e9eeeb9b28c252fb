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

// absorber moves commits that are older than the window's age to the base, and
// drops the segments of the log that the base covers. Only it writes to the base.
// If the window grows too large, it moves younger commits too: see pressure.
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
	old := a.ageCutoff()
	a.committer.head.absorbed(0)
	if err := a.absorbTo(old); err != nil {
		return err
	}
	if a.pressure.high() && !a.stopped() {
		if err := a.relievePressure(old); err != nil {
			return err
		}
	}
	if a.stopped() {
		return nil
	}
	return a.shortenLog()
}

// relievePressure absorbs younger commits, up to the oldest version that a
// transaction may read. If only transactions that wait for room to commit read
// that version, it admits them to the window.
func (a *absorber) relievePressure(old int64) error {
	read := a.pressure.oldestReader(old)
	waiting, some := a.committer.oldestWaiting()
	if err := a.absorbTo(min(read, waiting)); err != nil {
		return err
	}
	if some && a.pressure.high() && a.committer.head.viewed(waiting) <= read {
		a.pressure.relief.Store(true)
		a.committer.drive()
	}
	return nil
}

// ageCutoff returns the version up to which commits are old enough to absorb.
func (a *absorber) ageCutoff() int64 {
	h := a.committer.head
	newest := h.newest().version // what is above it may not be on the disk
	return min(h.clock.version()-a.age, newest)
}

// absorbTo moves the commits up to cutoff, which are published, to the base.
func (a *absorber) absorbTo(cutoff int64) error {
	for more := true; more && !a.stopped(); {
		var groups []journalGroup
		if groups, more = a.committer.cutJournal(cutoff); len(groups) == 0 {
			return nil
		}
		begin := time.Now()
		if err := a.absorbGroups(groups); err != nil {
			return err
		}
		writes, bytes := a.journal.discount(groups)
		a.stats.absorbed.Add(writes)
		a.committer.head.absorbed(bytes)
		a.stats.absorbTime.Add(int64(time.Since(begin)))
		a.committer.drive() // commits may have waited for room
	}
	return nil
}

// absorbGroups writes to the base the writes of groups that no later commit has
// overwritten.
func (a *absorber) absorbGroups(groups []journalGroup) error {
	a.base.AwaitCompactions(a.quit)
	v, err := a.durableView()
	if err != nil {
		return err
	}
	cutoff := groups[len(groups)-1].last
	a.base.RefuseReadersBelow(cutoff)
	for rest := stretches(groups); len(rest) > 0; {
		done, left, err := a.absorbStep(v, rest, cutoff)
		if err != nil {
			return err
		}
		for _, part := range done {
			a.committer.forgetAbsorbed(part, cutoff)
		}
		if a.stopped() {
			return nil
		}
		rest = left
	}
	b, err := a.base.NewBatch()
	if err == nil {
		err = b.Finish(cutoff)
	}
	if err == nil {
		err = b.Apply()
	}
	if err == nil {
		a.base.SetAbsorbed(cutoff)
	}
	return err
}

// durableView returns the newest view after it has synced all commits in it. It
// loads the view before it syncs: a commit in the view may have replaced older
// values. If a crash took that commit from the log, the base would lack both.
func (a *absorber) durableView() (*view, error) {
	v := a.committer.head.now.Load()
	return v, a.syncLog()
}

// absorbStep absorbs some entries of the first stretches. It returns the absorbed
// stretches, in parts so short that commits can wait for one, and the rest. It
// absorbs more than one part only while a run of cleared keys goes on, so that the
// run becomes one range tombstone.
func (a *absorber) absorbStep(v *view, all []stretchOf, cutoff int64) (done [][]stretchOf, left []stretchOf, err error) {
	b, err := a.base.NewBatch()
	if err != nil {
		return nil, nil, err
	}
	for more := true; more; more = len(all) > 0 && b.InRun() && len(done) < absorbStepParts && b.Size() < absorbStepBytes {
		var part []stretchOf
		if part, all, err = a.absorbPart(b, v, all, cutoff); err != nil {
			b.Discard()
			return nil, nil, err
		}
		done = append(done, part)
	}
	return done, all, b.Apply()
}

// absorbPart absorbs up to absorbStepEntries entries.
func (a *absorber) absorbPart(b *base.Batch, v *view, all []stretchOf, cutoff int64) (done, left []stretchOf, err error) {
	for budget := absorbStepEntries; len(all) > 0 && budget > 0 && b.Size() < absorbStepBytes; budget-- {
		seen, last, err := a.absorbStretch(b, v, all[0], budget, cutoff)
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

// absorbStretch absorbs up to budget entries of a stretch and returns how many they
// were and, if more are left, the key of the last.
func (a *absorber) absorbStretch(b *base.Batch, v *view, s stretchOf, budget int, cutoff int64) (seen int, last []byte, err error) {
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
		if err := absorbEntry(b, key, next, &e, cutoff); err != nil {
			return seen, nil, err
		}
		last = key
		seen++
	}
	return seen, nil, nil
}

// absorbEntry absorbs one entry and the gap behind it, which ends at next.
func absorbEntry(b *base.Batch, key, next []byte, e *entry, cutoff int64) error {
	point := e.point != unknown && e.version <= cutoff
	gap := e.gap == absent && e.gapAt <= cutoff
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

// shortenLog flushes the base and drops the segments of the log that it covers,
// once the log has become long.
func (a *absorber) shortenLog() error {
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
