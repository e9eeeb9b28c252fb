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
// No number is given twice by any pools over one store, whatever fails. The
// numbers of one [Sequence] ascend (descend) in the order in which calls of Take
// take them; the numbers of one call lie exactly as far apart as it asks, and
// are not mixed with those of another. Sequences of several pools are not ordered
// among each other. Clocks matter to none of this.
//
// [Pool.Close], and the eviction of a sequence that was not used for
// Options.Idle, give the numbers back that were reserved last and not used. The
// store takes them if no other pool has reserved since, by the version and the value of the
// sequence. Numbers are lost, which leaves gaps, when
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
// A range that begins before a number that this pool was given already is not
// used: [ErrRewound]. This is a second line of defence against a store that has
// lost data, within one process.
//
// # Reservations
//
// When less than a share (Options.PrefetchThreshold) of a batch is left, the
// next batch is reserved in the background. Its size follows the rate of use, so
// that it lasts for Options.Target; it at most doubles each time. Close to the
// bound it is an eighth of what is left. A sequence without requests has no
// goroutine and no timer.
//
// While the store fails, numbers in memory are given. Calls that need others wait
// for one answer of the store, and return its error. Reservations are tried again
// after a back-off.
package sequence
