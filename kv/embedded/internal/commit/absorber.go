// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"math"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

const (
	absorbEvery = 500 * time.Millisecond
	pressEvery  = 20 * time.Millisecond // while the window is larger than it should be
	idleAfter   = 3 * time.Second       // without a commit to move

	// A round of absorbing ends with a version that the base has absorbed. Its
	// steps are bounded, so that commits do not wait for it.
	absorbRoundKeys   = 32 << 10
	absorbStepEntries = 1000
	absorbStepBytes   = 1 << 20
	absorbStepParts   = absorbRoundKeys / absorbStepEntries // of a run of cleared keys
)

// Absorber moves commits that are older than the window's age to the base, and
// drops the segments of the log that the base covers. Only it writes to the base.
// If the window grows too large, it moves younger commits too: see pressure.
//
// One goroutine at a time calls Pass and AbsorbTo: the one that Start starts, or
// another if that was not called.
type Absorber struct {
	AbsorberOptions
	committer *Committer
	journal   *mvcc.Journal
	pressure  pressure

	flushed int64     // the absorbed version that is on the disk
	moved   time.Time // when commits were moved to the base last

	quit     chan struct{}
	settling bool // Settle runs, or has run: nothing but a fault interrupts it
	done     sync.WaitGroup
}

// AbsorberOptions are the parts of a database that an absorber works on, and when it
// does.
type AbsorberOptions struct {
	Base       *base.Base
	Log        *commitlog.Log
	Fault      *fault.Fault
	Age        int64                         // in versions: commits that are older are moved
	FlushAt    int64                         // size of the log that the base covers after which the base goes to the disk
	SettleAt   int64                         // bytes of the window above which younger commits are moved
	WindowSize int64                         // bytes of the window at which commits wait
	SyncLog    func(sync func() error) error // calls sync, which syncs the log; nil: nothing else is done
}

// maxSegments is after how many log files that it covers the base goes to the disk,
// however small they are.
const maxSegments = 16

// NewAbsorber returns an absorber, which bounds the window of a committer from now on.
func NewAbsorber(c *Committer, o AbsorberOptions) *Absorber {
	j := c.window.Journal()
	a := &Absorber{
		AbsorberOptions: o, committer: c, journal: j, flushed: o.Base.AbsorbedVersion(), quit: make(chan struct{}),
		pressure: pressure{journal: j, soft: o.SettleAt, limit: o.WindowSize, began: time.Now()},
	}
	c.pressure = &a.pressure
	return a
}

// Start starts a goroutine that absorbs from time to time.
func (a *Absorber) Start() { a.done.Go(a.run) }

// CatchUp absorbs at once if the log has grown far beyond what is usual.
func (a *Absorber) CatchUp() error {
	if _, segments := a.Log.Backlog(); segments <= 2*maxSegments {
		return nil
	}
	return a.Pass()
}

// run absorbs from time to time, until Stop.
func (a *Absorber) run() {
	timer := time.NewTimer(absorbEvery)
	defer timer.Stop()
	for {
		select {
		case <-a.quit:
			return
		case <-a.Fault.Raised():
			return
		case <-a.journal.Wake():
		case <-timer.C:
		}
		_ = a.Pass()
		wait := absorbEvery
		if a.pressure.high() {
			wait = pressEvery
		}
		timer.Reset(wait)
	}
}

// Stop ends what Start started, and waits for it.
func (a *Absorber) Stop() {
	close(a.quit)
	a.done.Wait()
}

// Settle moves all commits to the base, brings it to the disk, and drops the log, so that the
// next opening has nothing to read from it. Stop comes before, and nothing is committed any
// more. Only a fault of the disk ends it early.
func (a *Absorber) Settle() error {
	a.settling = true
	err := a.AbsorbTo(math.MaxInt64)
	if err == nil && !a.stopped() && a.flushed != a.Base.AbsorbedVersion() {
		err = a.dropLog()
	}
	if err != nil {
		return a.Fault.Raise("moving commits to the base", err)
	}
	return nil
}

// stopped reports whether Stop was called or the disk has failed.
func (a *Absorber) stopped() bool {
	select {
	case <-a.interrupted():
		return true
	default:
		return a.Fault.Get() != nil
	}
}

// interrupted returns the channel that is closed when work is to end early; nil: it is not.
func (a *Absorber) interrupted() <-chan struct{} {
	if a.settling {
		return nil
	}
	return a.quit
}

// Pass absorbs all that is old enough, or that may not stay in memory, and
// shortens the log if that is worth it. An error is the database's fault.
func (a *Absorber) Pass() error {
	if err := a.absorbAndShorten(); err != nil {
		return a.Fault.Raise("moving commits to the base", err)
	}
	return nil
}

// absorbAndShorten is Pass without the fault.
func (a *Absorber) absorbAndShorten() error {
	old := a.ageCutoff()
	a.committer.head.Evict()
	a.committer.sweepConflicts()
	if err := a.AbsorbTo(old); err != nil {
		return err
	}
	switch {
	case !a.pressure.high():
		a.pressure.held.Store(0)
	case !a.stopped():
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
func (a *Absorber) relievePressure(old int64) error {
	a.committer.head.ReleasePast()
	read := a.committer.head.OldestRead(old)
	a.pressure.held.Store(a.committer.bytesSince(read))
	waiting, some := a.committer.oldestWaiting()
	if err := a.AbsorbTo(min(read, waiting)); err != nil {
		return err
	}
	if some && a.pressure.high() && a.committer.head.ViewVersion(waiting) <= read {
		a.pressure.relief.Store(true)
	}
	a.committer.Drive() // readers may keep more than before, which leaves room
	return nil
}

// ageCutoff returns the version up to which commits are old enough to absorb.
func (a *Absorber) ageCutoff() int64 {
	return a.committer.head.Now() - a.Age
}

// AbsorbTo moves the commits up to cutoff, which are published, to the base.
func (a *Absorber) AbsorbTo(cutoff int64) error {
	last := a.Log.LastVersion()
	if err := a.absorbWrites(cutoff); err != nil || a.stopped() {
		return err
	}
	// The log has commits without writes, too, which only conflict.
	if last <= a.Base.AbsorbedVersion() || last > cutoff || a.journal.Writes() > 0 {
		return nil
	}
	a.moved = time.Now()
	return a.finishRound(last)
}

// absorbWrites moves what the commits up to cutoff have written to the base.
func (a *Absorber) absorbWrites(cutoff int64) error {
	for more := true; more && !a.stopped(); {
		var groups mvcc.JournalCut
		if groups, more = a.committer.cutJournal(cutoff); len(groups) == 0 {
			return nil
		}
		begin := time.Now()
		if err := a.absorbGroups(groups); err != nil {
			return err
		}
		a.committer.stats.AbsorbedWrites.Add(a.journal.Discount(groups))
		a.moved = time.Now()
		a.committer.head.Evict()
		a.committer.stats.AbsorbTime.Add(int64(time.Since(begin)))
		a.committer.Drive() // commits may have waited for room
	}
	return nil
}

// shortenLog brings the base to the disk and drops the log, once the log has become long, or
// there was nothing to move for a while. While a backup needs the segments the log stays as
// long as it is, and a flush for its sake would only make small tables.
func (a *Absorber) shortenLog() error {
	if a.flushed == a.Base.AbsorbedVersion() || a.Log.IsPinned() {
		return nil
	}
	size, segments := a.Log.Covered(a.Base.AbsorbedVersion())
	idle := a.journal.Writes() == 0 && time.Since(a.moved) >= idleAfter
	if size < a.FlushAt && segments <= maxSegments && !idle {
		return nil
	}
	return a.dropLog()
}

// dropLog brings the base to the disk, and drops the segments of the log that it covers.
func (a *Absorber) dropLog() error {
	absorbed := a.Base.AbsorbedVersion()
	ok, err := a.Base.Flush(a.interrupted())
	if ok && err == nil {
		ok, err = a.Log.Drop(absorbed)
	}
	if ok && err == nil { // else a copy has begun: later
		a.flushed = absorbed
	}
	return err
}

// absorbGroups writes to the base the writes of groups that no later commit has
// overwritten. Stop does not interrupt it: the journal no longer has the groups, and the
// next round would end with a version up to which the base does not have everything.
func (a *Absorber) absorbGroups(groups mvcc.JournalCut) error {
	a.Base.AwaitCompactions(a.interrupted())
	v, err := a.durableView()
	if err != nil {
		return err
	}
	cutoff := groups.Cutoff()
	a.Base.RefuseReadersBelow(cutoff)
	for rest := groups.Spans(); len(rest) > 0; {
		done, left, err := a.absorbStep(v, rest, cutoff)
		if err != nil {
			return err
		}
		for _, part := range done {
			a.committer.forgetAbsorbed(part, cutoff)
		}
		if err := a.Fault.Get(); err != nil {
			return err
		}
		rest = left
	}
	return a.finishRound(cutoff)
}

// finishRound notes in the base that it has all commits up to a version.
func (a *Absorber) finishRound(version int64) error {
	b, err := a.Base.NewBatch()
	if err == nil {
		err = b.Finish(version)
	}
	if err == nil {
		err = b.Apply()
	}
	if err == nil {
		a.Base.SetAbsorbed(version)
	}
	return err
}

// durableView returns the newest view after it has synced all commits in it. It
// loads the view before it syncs: a commit in the view may have replaced older
// values. If a crash took that commit from the log, the base would lack both.
func (a *Absorber) durableView() (*mvcc.View, error) {
	v := a.committer.head.Published()
	if a.SyncLog != nil {
		return v, a.SyncLog(a.Log.Sync)
	}
	return v, a.Log.Sync()
}

// absorbStep absorbs some entries of the first spans. It returns the absorbed
// spans, in parts so short that commits can wait for one, and the rest. It
// absorbs more than one part only while a run of cleared keys goes on, so that the
// run becomes one range tombstone.
func (a *Absorber) absorbStep(v *mvcc.View, all []mvcc.Span, cutoff int64) (done [][]mvcc.Span, left []mvcc.Span, err error) {
	b, err := a.Base.NewBatch()
	if err != nil {
		return nil, nil, err
	}
	for more := true; more; more = len(all) > 0 && b.InRun() && len(done) < absorbStepParts && b.Size() < absorbStepBytes {
		var part []mvcc.Span
		if part, all, err = a.absorbPart(b, v, all, cutoff); err != nil {
			b.Discard()
			return nil, nil, err
		}
		done = append(done, part)
	}
	return done, all, b.Apply()
}

// absorbPart absorbs up to absorbStepEntries entries.
func (a *Absorber) absorbPart(b *base.Batch, v *mvcc.View, all []mvcc.Span, cutoff int64) (done, left []mvcc.Span, err error) {
	for budget := absorbStepEntries; len(all) > 0 && budget > 0 && b.Size() < absorbStepBytes; budget-- {
		seen, last, err := v.CopyToBase(b, all[0], cutoff, budget, absorbStepBytes)
		if err != nil {
			return nil, nil, err
		}
		budget -= seen
		if last != nil {
			done = append(done, mvcc.Span{First: all[0].First, Last: last})
			all[0].First = keys.Successor(last)
			break
		}
		done, all = append(done, all[0]), all[1:]
	}
	return done, all, nil
}

// WindowUse is how full the window is, and what commits wait for it.
type WindowUse struct {
	Bytes, Limit int64
	Writes       int64
	Delayed      bool          // commits wait for room, now
	Delays       int64         // how often they had to
	DelayTime    time.Duration // how long, in all
}

// WindowUse returns how full the window is.
func (a *Absorber) WindowUse() WindowUse {
	p := &a.pressure
	u := WindowUse{Bytes: p.journal.Bytes(), Limit: p.limit, Writes: p.journal.Writes()}
	u.Delayed, u.Delays, u.DelayTime = p.account()
	return u
}
