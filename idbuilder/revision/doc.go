// SPDX-License-Identifier: Apache-2.0

// Package revision tells whether what a process has read of a store is still
// true. A [Watch] polls the store's revision; what was read under a revision may be
// used for as long as the watch vouches for it. A change is in force everywhere
// once [Watch.Announce] has returned.
//
//	w := revision.New(s, revision.Options{})
//	defer w.Close()
//	now, err := w.Current(ctx)
//	if err != nil {
//		return err // the store cannot be asked
//	}
//	if cached.revision != now {
//		cached, err = read(ctx, s) // and cached.revision = now
//	}
//
// # Why it is safe
//
// Current vouches for a revision for at most [Options.Validity] after the poll that
// returned it began, by the monotonic clock. Announce raises the revision, then
// waits for as long: every watch, in any process, has asked again by then,
// or vouches for nothing. A process that is stopped between Current and the use of
// what it vouches for may use it late, as if its request had taken that long.
package revision
