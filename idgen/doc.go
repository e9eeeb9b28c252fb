// SPDX-License-Identifier: Apache-2.0

// Package idgen makes the ids of records: kazahana IDs, ULIDs and UUIDs, all
// sortable by the time of their making.
//
// A kazahana [ID] is 64 bits: milliseconds since 2026, a machine, a sequence.
// It is half the size of the others, and an int64 everywhere:
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
// Most programs make no generator: [NewID], [NewULID], [NewULIDString] and
// [NewUUID] are what a program calls for an id of its own. NewID asks [Default],
// which [SetDefault] and [InstallDefault] decide. Generated constructors call
// [NewInstalledID], which makes no ID before one of the two was called.
//
// # Sources
//
// [Client] makes IDs, [ULIDSource] makes ULIDs, [UUIDSource] makes UUIDs of
// version 7. Each is a [Source]; a Source of ID is a [Generator]. The ids of
// one source strictly increase: an id is greater than every id that the source
// returned before the call began. Across processes they are ordered as well as
// the clocks agree.
//
// # Uniqueness
//
// A source never repeats an id. Managed Clients of one service do not repeat
// each other's either: each makes its IDs under a [Lease], positions that no
// other client has at the time, and no two leases overlap. Fallback IDs, where
// the provider cannot be reached, are unique as well for as long as the last
// lease lasted. Later, and in standalone mode, they are random: Clients count
// from random numbers in each millisecond, with the odds that [Client] states.
// ULIDs and UUIDs carry 80 and 74 random bits, enough to rule it out.
//
// # Outside
//
// An ID tells when it was made; several tell how many there are. The package
// idgen/external writes them as 11 characters that do not.
//
// # Clocks
//
// A Client waits for a clock that was set back, up to [Options.MaxBackward],
// then returns a [*ClockBackwardError]. It does not follow a clock that jumps
// far ahead before a lease, or time, shows that it is right. A clock before the
// custom epoch or past the end of the timestamp is a [*TimeRangeError], never a
// negative or wrapped ID. ULIDs and UUIDs go on from the last timestamp
// instead.
//
// # Concurrency and transactions
//
// Everything in this package is safe for concurrent use, except assigning to
// one variable (Scan, the Unmarshal methods, the fields of a source). No call
// for an id reads or writes a database: leases are acquired in the background. An id must be made before the first attempt of a
// transaction, never inside a function that may run again: each attempt would
// make another one.
package idgen
