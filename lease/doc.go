// SPDX-License-Identifier: Apache-2.0

// Package lease is the server's side of leases: which positions of the ID space
// are granted to whom, from when, and until when. A [Server] grants them from a
// [Store], of which the packages below this one, and leasefdb, are
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
// positions has a fence, before which its next lease does not begin. The fence
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
// The store's clock decides when a lease begins and which positions are free. One
// that is wrong costs availability, never uniqueness: where it is behind, fewer
// positions look free. Where it is ahead, it is granted time ahead, and the time
// until then is still granted to others.
//
// Where the store's clock is that of the process, a jump ahead by more than the
// longest lease is not believed unless others lease by that time, too: leases
// then begin by the monotonic clock. docs/architecture.md has the reasons.
//
// # Losses
//
// A store that forgets leases would grant them twice. A service that is not in
// the store is therefore taken for lost, and nothing is granted until what may
// be in use has ended, unless [Options.Fresh] says that it is new. See also
// [IncarnationTx] and [Server.Quarantine].
//
// # Cost
//
// Acquire makes a bounded number of reads, however many positions are taken: the
// free blocks are a queue, ordered by size and the time since when they are free.
// Those never granted come first, then those free for longest.
//
// # Concurrency
//
// A Server is safe for concurrent use, and any number of them may share a store.
package lease
