// SPDX-License-Identifier: Apache-2.0

// Package revision tells whether data that a process has read from a store is still
// current. A [Watch] polls the store's revision. Data that was read under a
// revision may be used while the watch confirms the revision. A change is in force
// everywhere once [Watch.Announce] has returned.
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
// Current confirms a revision for at most [Options.Validity] after the poll that
// returned it began. Announce raises the revision, then waits for the same time: by
// then every watch, in any process, has polled again, or confirms no revision. An
// answer that comes later than the validity is discarded. The monotonic clock
// measures the time; a wall clock that has gone further also ends the validity,
// since the monotonic clock of some machines stands still while they are suspended.
// The clocks must run at the same rate, within [Options.Margin]; they need not
// agree on the time.
//
// # What it does not do
//
// A process that is stopped between Current and the use of the data may use it
// late, as if its request had taken that long.
//
// If a caller crashes between its change and Announce, the store has changed, and
// no process learns of it until the next Announce of any change. If that matters,
// as for tokens, read again after some time even under the same revision.
package revision
