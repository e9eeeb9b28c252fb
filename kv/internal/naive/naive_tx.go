// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// naiveTx is a transaction of a naiveDB, guarded by its lock.
type naiveTx struct {
	naiveView
	db        *naiveDB
	committed int64
	retries   int64       // left; -1 is unlimited
	timer     *time.Timer // of the timeout; nil: there was none
	dead      error       // cancelled or timed out: until Reset
	options   kv.TransactionOptions
	told      []kv.KeyRange // the conflicting keys of the last commit that asked for them
	naiveAttempt
}

// naiveAttempt is what OnError and Reset forget.
type naiveAttempt struct {
	version     int64 // 0 before the first read
	read        bool
	ended       bool // by Commit
	fault       error
	writes      []naiveWrite
	reads       []kv.KeyRange
	conflicts   []kv.KeyRange // of writes
	size, limit int64
	rywOff      bool
	snapshotOff int
	quiet       bool // the next write adds no conflict
	reports     bool // conflicting keys
	watches     []*naiveWatch
	stamps      []*kv.Promise[[]byte]
}

// renew begins another attempt.
func (t *naiveTx) renew() {
	t.give(kv.NewError(kv.CodeTransactionCancelled, ""))
	t.naiveAttempt = naiveAttempt{}
	t.configure()
}

// configure sets what an attempt keeps to the options.
func (t *naiveTx) configure() {
	t.limit, t.reports = cmp.Or(int64(t.options.SizeLimit), kv.MaxTransactionSize), t.options.ReportConflictingKeys
}

// begun sets what a retry keeps to the options.
func (t *naiveTx) begun() {
	t.dead, t.retries = nil, cmp.Or(int64(t.options.RetryLimit), -1)
	t.expire(t.options.Timeout)
}

// expire kills the transaction after a time, unless that is 0 or another is set.
func (t *naiveTx) expire(after time.Duration) {
	if t.timer != nil {
		t.timer.Stop()
	}
	if after > 0 {
		t.timer = time.AfterFunc(after, func() { t.kill(kv.NewError(kv.CodeTransactionTimedOut, "")) })
	}
}

// give ends futures that are not ready.
func (t *naiveTx) give(err error) {
	for _, w := range t.watches {
		w.promise.Resolve(struct{}{}, err)
	}
	for _, s := range t.stamps {
		s.Resolve(nil, err)
	}
	t.watches, t.stamps = nil, nil
}

// usable returns why the transaction cannot be used.
func (t *naiveTx) usable() error {
	switch {
	case t.ended:
		return kv.NewError(kv.CodeUsedDuringCommit, "")
	case t.db.closed:
		return kv.ErrClosed
	case t.dead != nil:
		return t.dead
	}
	return t.fault
}

// begin fixes the read version.
func (t *naiveTx) begin() error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.version == 0 {
		t.version = t.db.last().number
		t.fault = t.options.CheckVersion(t.version)
	}
	return t.fault
}

// write gathers a write.
func (t *naiveTx) write(w naiveWrite) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if err := w.fault(); err != nil {
		if t.fault == nil {
			t.fault = err
		}
		return
	}
	t.size += int64(len(w.keys.Begin) + len(w.keys.End) + len(w.operand))
	t.writes = append(t.writes, w)
	if !t.quiet && w.op != kv.SetVersionstampedKey {
		t.conflicts = append(t.conflicts, w.keys)
	}
	t.quiet = false
}

func (t *naiveTx) Set(key, value []byte) {
	t.write(naiveWrite{naiveSet, single(key), bytes.Clone(value)})
}

func (t *naiveTx) Clear(key []byte) { t.write(naiveWrite{naiveClear, single(key), nil}) }

func (t *naiveTx) ClearRange(r kv.KeyRange) {
	t.write(naiveWrite{naiveClear, kv.KeyRange{Begin: bytes.Clone(r.Begin), End: bytes.Clone(r.End)}, nil})
}

func (t *naiveTx) Atomic(op kv.MutationType, key, operand []byte) {
	t.write(naiveWrite{op, single(key), bytes.Clone(operand)})
}

// addConflict adds a range to the reads or to the conflicts of writes.
func (t *naiveTx) addConflict(to *[]kv.KeyRange, r kv.KeyRange) error {
	if bytes.Compare(r.Begin, r.End) > 0 {
		return kv.NewError(kv.CodeInvertedRange, "")
	}
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	t.size += int64(len(r.Begin) + len(r.End))
	*to = append(*to, kv.KeyRange{Begin: bytes.Clone(r.Begin), End: bytes.Clone(r.End)})
	return nil
}

func (t *naiveTx) AddReadConflictRange(r kv.KeyRange) error { return t.addConflict(&t.reads, r) }

func (t *naiveTx) AddReadConflictKey(key []byte) error { return t.addConflict(&t.reads, single(key)) }

func (t *naiveTx) AddWriteConflictRange(r kv.KeyRange) error { return t.addConflict(&t.conflicts, r) }

func (t *naiveTx) AddWriteConflictKey(key []byte) error {
	return t.addConflict(&t.conflicts, single(key))
}

func (t *naiveTx) SetReadVersion(version int64) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	switch {
	case t.version != 0:
		t.fault = kv.NewError(kv.CodeReadVersionAlreadySet, "")
	case version <= 0:
		t.fault = kv.NewError(kv.CodeVersionInvalid, "")
	default:
		t.version = version
	}
}

func (t *naiveTx) SetOption(o kv.Option, arg int64) error {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	switch o {
	case kv.OptionReadYourWritesDisable:
		if t.read || len(t.writes) > 0 {
			t.fault = kv.NewError(kv.CodeClientInvalidOperation, "")
		}
		t.rywOff = true
	case kv.OptionSnapshotRYWDisable:
		t.snapshotOff++
	case kv.OptionSnapshotRYWEnable:
		t.snapshotOff--
	case kv.OptionNextWriteNoWriteConflictRange:
		t.quiet = true
	case kv.OptionReportConflictingKeys:
		t.reports = true
	case kv.OptionSizeLimit:
		t.limit = arg
	case kv.OptionRetryLimit:
		t.retries = arg
	case kv.OptionTimeout:
		t.expire(time.Duration(arg) * time.Millisecond)
	}
	return nil
}

// kill makes the transaction unusable until Reset.
func (t *naiveTx) kill(err error) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if t.ended {
		return
	}
	if t.dead == nil {
		t.dead = err
	}
	t.give(t.dead)
}

func (t *naiveTx) Cancel() { t.kill(kv.NewError(kv.CodeTransactionCancelled, "")) }

func (t *naiveTx) Release() {}

func (t *naiveTx) Reset() {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	t.renew()
	t.begun()
}

func (t *naiveTx) OnError(_ context.Context, err error) error {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	switch {
	case t.dead != nil:
		return t.dead
	case !kv.IsRetryable(err) || t.retries == 0:
		return err
	case t.retries > 0:
		t.retries--
	}
	t.renew()
	return nil
}

func (t *naiveTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

func (t *naiveTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

func (t *naiveTx) ConflictRanges(context.Context) (read, write []kv.KeyRange, err error) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	return merged(t.reads), merged(t.conflicts), t.usable()
}

func (t *naiveTx) ConflictingKeys(context.Context) ([]kv.KeyRange, error) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	return t.told, nil
}

// merged sorts ranges and joins those that touch.
func merged(ranges []kv.KeyRange) (out []kv.KeyRange) {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) })
	for _, r := range ranges {
		if n := len(out); n > 0 && bytes.Compare(r.Begin, out[n-1].End) <= 0 {
			out[n-1].End = slices.MaxFunc([][]byte{out[n-1].End, r.End}, bytes.Compare)
			continue
		}
		out = append(out, r)
	}
	return out
}

func (t *naiveTx) Watch(key []byte) kv.Future[struct{}] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	m, err := t.naiveView.pairs()
	if t.rywOff {
		err = kv.NewError(kv.CodeWatchesDisabled, "")
	}
	if err == nil {
		err = t.touch(single(key))
	}
	if err != nil {
		return kv.Resolved(struct{}{}, err)
	}
	w := &naiveWatch{string(key), seen(m, string(key)), kv.NewPromise[struct{}]()}
	t.watches = append(t.watches, w)
	return w.promise.Future()
}

func (t *naiveTx) GetVersionstamp() kv.Future[[]byte] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if err := t.usable(); err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	promise := kv.NewPromise[[]byte]()
	t.stamps = append(t.stamps, promise)
	return promise.Future()
}

func (t *naiveTx) GetApproximateSize() kv.Future[int64] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	return kv.Resolved(t.size, nil)
}

func (t *naiveTx) GetCommittedVersion() (int64, error) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	return t.committed, nil
}

func (t *naiveTx) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

func (t *naiveTx) CommitAsync() kv.Future[struct{}] {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	if err := t.usable(); err != nil {
		return kv.Resolved(struct{}{}, err)
	}
	stamp, err := t.commit()
	t.ended = true
	t.arm(err)
	for _, s := range t.stamps {
		switch {
		case err != nil:
			s.Resolve(nil, kv.NewError(kv.CodeTransactionInvalidVersion, ""))
		case stamp == nil:
			s.Resolve(nil, kv.NewError(kv.CodeNoCommitVersion, ""))
		default:
			s.Resolve(stamp, nil)
		}
	}
	t.stamps = nil
	return kv.Resolved(struct{}{}, err)
}

// commit checks and applies the writes; a read-only commit has no stamp.
func (t *naiveTx) commit() (stamp []byte, err error) {
	t.committed = -1
	switch {
	case t.size > t.limit:
		return nil, kv.NewError(kv.CodeTransactionTooLarge, "")
	case len(t.writes)+len(t.conflicts) == 0:
		return nil, nil
	}
	if lost := t.db.conflicting(merged(t.reads), t.version); t.version != 0 && len(lost) > 0 {
		if !t.reports {
			return nil, kv.NewConflictError(nil)
		}
		t.told = lost
		return nil, kv.NewConflictError(lost)
	}
	stamp = t.db.apply(t.writes, t.conflicts)
	t.committed = t.db.last().number
	return stamp, nil
}

// arm hands the watches to the database, or fails them.
func (t *naiveTx) arm(err error) {
	for _, w := range t.watches {
		if err != nil {
			w.promise.Resolve(struct{}{}, err)
			continue
		}
		t.db.watches[w] = true
	}
	t.watches = nil
	t.db.fire()
}
