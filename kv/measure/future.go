// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

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
	return kv.NewFuture[T](&future[T]{Future: f, rounds: r, round: r.start(), size: size})
}

// Done implements [kv.PendingResult].
func (f *future[T]) Done() <-chan struct{} {
	f.rounds.wait(f.round)
	return f.Future.Done()
}

// Drive lets the engine make the read in the goroutine that waits for it.
func (f *future[T]) Drive(ctx context.Context) {
	f.rounds.wait(f.round)
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
