// SPDX-License-Identifier: Apache-2.0

// Package sequence serves numbers of sequences from memory. It reserves them in
// ranges in a [store.Store], each by one atomic operation, and ahead of need.
//
//	pool, err := sequence.New(s, sequence.Options{}) // s is a store.Store
//	if err != nil {
//		return err
//	}
//	defer pool.Close(ctx)
//	orders, err := pool.Sequence("orders", sequence.Spec{Start: 1000, Step: 1, Bound: math.MaxInt64})
//	if err != nil {
//		return err
//	}
//	ids, err := orders.Take(ctx, nil, sequence.Request{Count: 3}) // 1001, 1002, 1003
//
// # Uniqueness, order and gaps
//
// The pools over one store never give a number twice, whatever fails. The numbers
// of one [Sequence] ascend (descend) in the order of the calls of Take. The numbers
// of one call lie exactly as far apart as it asks, and are not mixed with those of
// another. Sequences of several pools have no common order. None of this depends on
// clocks.
//
// [Pool.Close], and the eviction of a sequence that was not used for Options.Idle,
// give the last reserved numbers back if they are unused. The store takes them if
// version and value of the sequence show that no other pool has reserved since.
// Numbers are lost, which leaves gaps, when
//
//   - a process crashes: what it has in memory, up to two batches;
//   - the outcome of a reservation is unknown: its batch;
//   - another pool reserves in between, so that two ranges of this pool do not
//     touch, and the rest of the first one is too small for a request: that rest.
//     Ranges that touch are joined, and nothing is lost;
//   - numbers cannot be given back, since another pool has reserved since, or the
//     store fails;
//   - [Pool.Drop] is called.
//
// A pool does not use a range that begins before a number that it was given
// already: [ErrRewound]. Within one process this is a second line of defence
// against a store that has lost data.
//
// # Reservations
//
// When less than a share (Options.PrefetchThreshold) of a batch is left, the
// next batch is reserved in the background. Its size follows the rate of use, so
// that it lasts for Options.Target; it at most doubles each time. Close to the
// bound it is an eighth of what is left. A sequence without requests has no
// goroutine and no timer.
//
// While the store fails, Take gives numbers from memory. Calls that need more wait
// for one answer of the store, and return its error. The pool tries reservations
// again after a back-off.
package sequence
