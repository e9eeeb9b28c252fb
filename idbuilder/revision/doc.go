// SPDX-License-Identifier: Apache-2.0

// Package revision tells whether what a process has read of a store is still
// true. A [Watch] polls the store's revision; what was read under a revision may be
// used for as long as the watch vouches for it. A change is in force everywhere
// once [Watch.Announce] has returned.
//
//	w, err := revision.New(s, revision.Options{})
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	now, err := w.Current(ctx)
//	if err != nil {
//		return err // the store cannot be asked
//	}
//	if cached.revision != now {
//		cached, err = read(ctx, s) // after Current, and kept with cached.revision = now
//	}
//
// # Why it is safe
//
// Current vouches for a revision for at most [Options.Validity] after the poll that
// returned it began. Announce raises the revision, then
// waits for as long: by then every watch, in any process, has polled again,
// or vouches for nothing. An answer that comes later than the validity is discarded. Time is
// measured by the monotonic clock; a wall clock that has gone further ends
// the validity as well, since the monotonic clock of some machines stands still while they
// are suspended. The proof needs clocks that run at the same rate, but for
// [Options.Margin]; they need not agree on the time.
//
// # What it does not do
//
// A process that is stopped between Current and the use of
// what it vouches for may use it late, as if its request had taken that long.
//
// A caller that crashes between its change and Announce has changed the store, and no
// process learns of it until the next Announce of any change. Where that matters, such as for tokens,
// read again after some time even under the same revision.
package revision
