// SPDX-License-Identifier: Apache-2.0

// Package lease is the server's side of leases: it decides which positions of the
// ID space each client gets, from when, and until when. A [Server] grants them from
// a [Store], of which the packages below this one, and leasefdb, are
// implementations:
//
//	store, err := sqlite.Open("leases.db", sqlite.Options{})
//	if err != nil {
//		return err
//	}
//	server, err := lease.NewServer(store, lease.Options{Fresh: true})
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: server, ServiceID: "orders"})
//
// # Uniqueness
//
// A lease is a rectangle, positions × milliseconds, and no two leases of a
// service overlap, whatever the clocks of servers and clients say: a block of
// positions has an earliest start, before which its next lease does not begin. It
// is stored before a lease is handed out. Blocks are aligned and tile the space,
// so leases of different size are disjoint as well; free blocks are split and
// merged as requests need.
//
// A client may go on with the positions of a lease that ended without being
// released, with the fallback bit set, for as long as the lease lasted. The next
// lease of these positions ends no earlier than that, so that two holders do not
// continue at once.
//
// # Clocks
//
// The store's clock decides when a lease begins and which positions are free. A
// wrong one costs availability, never uniqueness: if it is slow, fewer positions
// look free; if it is ahead, it is granted time ahead, and the time until then is
// still granted to others.
//
// If the store's clock is that of the process, a jump ahead by more than
// five seconds is not believed unless others lease by that time, too, or it has
// lasted for as long as it is far: leases then begin by the monotonic clock.
// docs/decisions/019-second-witness-of-the-time.md has the reasons.
//
// # Losses
//
// A store that forgets leases would grant them twice. So a service that is not in
// the store counts as lost, and nothing is granted until what may be in use has
// ended, unless [Options.Fresh] says that it is new. See also [Tx.Incarnation]
// and [Server.Quarantine].
//
// # Cost
//
// Acquire makes a bounded number of reads, however many positions are taken: the
// free blocks are a queue, ordered by size and the time since which they are free.
// Those never granted come first, then those free for longest.
//
// # Files
//
// Uniqueness depends on these files. A change there needs the model test and the
// stores' suites:
//
//   - block.go: when the next lease of a block may begin and end; what a grant, a
//     release, a renewal, a split and a merge do to that.
//   - service_tx.go, service_tx_release.go: one transaction: reads that are
//     serializable, the records that a commit writes, quarantine.
//   - acquisition.go, search.go, search_frontier.go: which blocks a transaction may
//     claim, makes, splits and merges, and what it writes when it grants them. Entries
//     of the queue are read as a snapshot, the blocks themselves are not.
//   - createService in server_acquire.go, server_release.go: services that come and go.
//   - record.go, account.go, and [times] in clock.go: formats.
//
// The constants in search.go and search_frontier.go, and maxAttempts in
// server_acquire.go, tune contention and the number of reads: leases stay
// disjoint whatever their values.
//
// clock.go decides which time is believed. It protects clients from leases of a wrong
// year; a wrong decision costs availability.
//
// # Concurrency
//
// A Server is safe for concurrent use, and any number of them may share a store.
package lease
