// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// inner is the engine's transaction: it answers the calls that are not counted.
type inner struct{ kv.Transaction }

// transaction counts the calls of a transaction.
type transaction struct {
	reads
	inner
}

// newTransaction returns tx counted in a meter.
func newTransaction(m *Meter, tx kv.Transaction) *transaction {
	m.add(func(u *Usage) { u.Begins++ })
	return &transaction{reads{&rounds{meter: m, view: tx}, tx}, inner{tx}}
}

// write counts a write of so many bytes.
func (t *transaction) write(size int) kv.Transaction {
	t.add(func(u *Usage) {
		u.Writes++
		u.BytesWritten += size
	})
	return t.inner
}

// Set implements [kv.Transaction].
func (t *transaction) Set(key, value []byte) { t.write(len(key)+len(value)).Set(key, value) }

// Clear implements [kv.Transaction].
func (t *transaction) Clear(key []byte) { t.write(len(key)).Clear(key) }

// ClearRange implements [kv.Transaction].
func (t *transaction) ClearRange(r kv.KeyRange) { t.write(len(r.Begin) + len(r.End)).ClearRange(r) }

// Atomic implements [kv.Transaction].
func (t *transaction) Atomic(op kv.MutationType, key, operand []byte) {
	t.write(len(key)+len(operand)).Atomic(op, key, operand)
}

// Watch implements [kv.Transaction].
func (t *transaction) Watch(key []byte) kv.Future[struct{}] {
	t.add(func(u *Usage) { u.Watches++ })
	return t.inner.Watch(key)
}

// Commit implements [kv.Transaction].
func (t *transaction) Commit(ctx context.Context) error {
	t.add(func(u *Usage) { u.Commits++ })
	began := time.Now()
	err := t.inner.Commit(ctx)
	t.rounds.meter.addWaits(Waits{Commit: time.Since(began)})
	return err
}

// CommitAsync implements [kv.Transaction].
func (t *transaction) CommitAsync() kv.Future[struct{}] {
	t.add(func(u *Usage) { u.Commits++ })
	return t.inner.CommitAsync()
}

// OnError implements [kv.Transaction].
func (t *transaction) OnError(ctx context.Context, err error) error {
	if err := t.inner.OnError(ctx, err); err != nil {
		return err
	}
	t.rounds.close()
	t.add(func(u *Usage) { u.Retries++ })
	return nil
}

// Reset implements [kv.Transaction].
func (t *transaction) Reset() {
	t.rounds.close()
	t.inner.Reset()
}

// Transact implements [kv.Transactor].
func (t *transaction) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *transaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// reads counts the reads of a transaction or of its snapshot.
type reads struct {
	rounds *rounds
	view   kv.ReadTransaction
}

func (v reads) add(change func(*Usage)) { v.rounds.meter.add(change) }

// Get implements [kv.ReadTransaction].
func (v reads) Get(key []byte) kv.Future[[]byte] {
	if string(key) == kv.MetadataVersionKey {
		v.add(func(u *Usage) { u.Free++ })
		v.rounds.askVersion()
		return kv.NewFuture[[]byte](&future[[]byte]{Future: v.view.Get(key), rounds: v.rounds, round: noRound})
	}
	v.add(func(u *Usage) { u.Gets++ })
	return newFuture(v.rounds, v.view.Get(key), sizeOfValue(len(key)))
}

// AppendGets is called by [kv.AppendGets].
func (v reads) AppendGets(futures []kv.Future[[]byte], keys [][]byte) []kv.Future[[]byte] {
	v.add(func(u *Usage) { u.Gets += len(keys) })
	before := len(futures)
	futures = kv.AppendGets(futures, v.view, keys)
	for i, f := range futures[before:] {
		futures[before+i] = newFuture(v.rounds, f, sizeOfValue(len(keys[i])))
	}
	return futures
}

// GetKey implements [kv.ReadTransaction].
func (v reads) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	v.add(func(u *Usage) { u.Gets++ })
	return newFuture(v.rounds, v.view.GetKey(sel), nil)
}

// GetRange implements [kv.ReadTransaction].
func (v reads) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	v.add(func(u *Usage) { u.Ranges++ })
	return v.view.GetRange(r, o).Wrap(func(_ kv.BatchRequest, batch kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		v.add(func(u *Usage) { u.Batches++ })
		return newFuture(v.rounds, batch, sizeOfBatch)
	})
}

// GetReadVersion implements [kv.ReadTransaction].
func (v reads) GetReadVersion() kv.Future[int64] {
	v.add(func(u *Usage) { u.Free++ })
	return v.view.GetReadVersion()
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (v reads) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	v.add(func(u *Usage) { u.Gets++ })
	return newFutureOfNow(v.rounds, v.view.GetEstimatedRangeSizeBytes(r))
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (v reads) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	v.add(func(u *Usage) { u.Gets++ })
	return newFutureOfNow(v.rounds, v.view.GetRangeSplitPoints(r, chunkSize))
}

// Snapshot implements [kv.ReadTransaction].
func (v reads) Snapshot() kv.ReadTransaction { return reads{v.rounds, v.view.Snapshot()} }

// ReadTransact implements [kv.ReadTransactor].
func (v reads) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}

// SetOptions implements [kv.ReadTransaction].
func (v reads) SetOptions(o kv.TransactionOptions) error { return v.view.SetOptions(o) }

// rounds finds the read rounds of one transaction: a round is open from the
// first read that is started until one of its reads is waited for.
type rounds struct {
	meter *Meter

	view kv.ReadTransaction

	mu      sync.Mutex
	current int // the number of the open round, or of the last one
	open    bool
	version kv.Future[int64] // of the attempt, asked for with its first read
	asked   bool
	waited  bool // for the version
}

// noRound is the number of no round.
const noRound = -1

// askVersion asks for the read version of the attempt, once: the read that follows needs it.
func (r *rounds) askVersion() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked {
		r.asked, r.version = true, r.view.GetReadVersion()
	}
}

// awaitVersion waits for the read version of the attempt, once, and measures how long.
func (r *rounds) awaitVersion(ctx context.Context) {
	r.mu.Lock()
	version, first := r.version, r.asked && !r.waited
	r.waited = r.waited || first
	r.mu.Unlock()
	if !first {
		return
	}
	began := time.Now()
	_, _ = version.Get(ctx) // the read has the error, too
	r.meter.addWaits(Waits{ReadVersion: time.Since(began)})
}

// start puts a read into the open round or opens one, and returns its number.
func (r *rounds) start() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		r.open = true
		r.current++
		r.meter.add(func(u *Usage) { u.Rounds++ })
	}
	return r.current
}

// wait closes the round if it is the open one.
func (r *rounds) wait(round int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round == r.current {
		r.open = false
	}
}

// close ends the open round: an attempt of the transaction is over.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open, r.asked, r.waited = false, false, false
}

// future is a read's future that looks pending, so that asking for its result is seen.
type future[T any] struct {
	kv.Future[T]
	rounds *rounds
	round  int
	size   func(T) (pairs, bytes int) // of the result; nil: it is not counted
	seen   atomic.Bool                // the result is counted
}

// newFuture puts a started read into a round. size tells what its result adds to the usage.
func newFuture[T any](r *rounds, f kv.Future[T], size func(T) (pairs, bytes int)) kv.Future[T] {
	r.askVersion()
	return kv.NewFuture[T](&future[T]{Future: f, rounds: r, round: r.start(), size: size})
}

// newFutureOfNow is newFuture for what is not of the read version.
func newFutureOfNow[T any](r *rounds, f kv.Future[T]) kv.Future[T] {
	return kv.NewFuture[T](&future[T]{Future: f, rounds: r, round: r.start()})
}

// Done implements [kv.PendingResult].
func (f *future[T]) Done() <-chan struct{} {
	f.rounds.wait(f.round)
	return f.Future.Done()
}

// Drive lets the engine make the read in the goroutine that waits for it.
func (f *future[T]) Drive(ctx context.Context) {
	f.rounds.wait(f.round)
	f.rounds.awaitVersion(ctx)
	_, _ = f.Get(ctx) // if ctx ends first, the caller notices it
}

// Result implements [kv.PendingResult].
func (f *future[T]) Result() (T, error) {
	result, err := f.Get(context.Background())
	if err == nil && f.size != nil && f.seen.CompareAndSwap(false, true) {
		f.rounds.meter.add(func(u *Usage) {
			pairs, bytes := f.size(result)
			u.Pairs, u.BytesRead = u.Pairs+pairs, u.BytesRead+bytes
		})
	}
	return result, err
}

// sizeOfValue returns what the value of a key of some length adds to the usage.
func sizeOfValue(key int) func([]byte) (pairs, bytes int) {
	return func(value []byte) (pairs, bytes int) {
		if value == nil {
			return 0, 0
		}
		return 1, key + len(value)
	}
}

// sizeOfBatch returns what a batch of a range read adds to the usage.
func sizeOfBatch(b kv.Batch) (pairs, bytes int) {
	for _, pair := range b.KVs {
		bytes += len(pair.Key) + len(pair.Value)
	}
	return len(b.KVs), bytes
}
