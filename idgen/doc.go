// SPDX-License-Identifier: Apache-2.0

// Package idgen makes the ids of records: kazahana IDs, ULIDs and UUIDs. All sort
// by the time at which they were made.
//
// A kazahana [ID] has 64 bits: milliseconds since 2026, a machine, a sequence. It
// has half the size of the others, and is an int64 everywhere:
//
//	ids, err := idgen.NewClient(idgen.Options{}) // standalone: no configuration, no network
//	if err != nil {
//		return err
//	}
//	id, err := ids.Next(ctx)  // 211469771380744768
//	id.Time()                 // 2027-08-07 13:05:22.415 +0000 UTC
//	id.IsFallback()           // true: made without a lease
//	text, _ := id.MarshalText() // and JSON strings, SQL integers
//	batch := make([]idgen.ID, 64)
//	_, err = ids.NextN(ctx, batch)
//
// With a [LeaseProvider] IDs are unique across processes, whatever their clocks
// say:
//
//	ids, err := idgen.NewClient(idgen.Options{Provider: leases, ServiceID: "orders"})
//	if err != nil {
//		return err
//	}
//	defer ids.Shutdown(context.Background()) // gives the leases back
//	err = ids.Ready(ctx)                     // optional: fail now rather than at the first ID
//
// Most programs make no generator of their own, and call [NewID], [NewULID],
// [NewULIDString] or [NewUUID]. NewID asks the generator [Default], which
// [SetDefault] and [InstallDefault] replace. Generated constructors call
// [NewInstalledID], which makes no ID before one of these two was called, and a
// store's New calls [NewIDOf].
//
// # Sources
//
// [Client] makes IDs, [ULIDSource] makes ULIDs, [UUIDSource] makes UUIDs of version
// 7. A program may use a [Generator] of its own in place of the Client. The ids of one
// source strictly increase: an id is greater than every id that the source returned
// before the call began. Across processes their order is as exact as the clocks agree.
//
// # Uniqueness
//
// A source never repeats an id. Managed Clients of one service do not repeat each
// other's IDs either: each makes its IDs under a [Lease], for positions that no
// other client has at the time, and no two leases overlap. If the provider cannot
// be reached, a Client makes fallback IDs. They are unique, too, for as long as the
// last lease lasted. Later, and in standalone mode, IDs are random: Clients count
// from random numbers in each millisecond, with the odds that [Client] states.
// ULIDs and UUIDs have 80 and 74 random bits, so duplicates are practically
// impossible.
//
// # External form
//
// An ID shows when it was made, and several IDs show how many there are. Package
// idgen/external writes IDs as 11 characters that do not.
//
// # Clocks
//
// If the clock was set back, a Client waits for it up to [Options.MaxBackward],
// then returns a [*ClockBackwardError]. It follows a clock that jumps far ahead
// only when a lease, or the passing of time, shows that the clock is right. A clock
// before the custom epoch or past the end of the timestamp gives an error,
// [ErrBeforeCustomEpoch] or [ErrTimeOverflow], never a negative or wrapped ID. If the clock was set back,
// ULIDs and UUIDs continue from the last timestamp; they follow a jump ahead only when
// it has lasted: see [ULIDSource].
//
// # Concurrency and transactions
//
// Everything in this package is safe for concurrent use, except assigning to one
// variable (Scan, the Unmarshal methods, the fields of a source). No call for an id
// reads or writes a database: a Client acquires leases in the background. Make an
// id before the first attempt of a transaction, never inside a function that may
// run again: each attempt would make another id.
package idgen
