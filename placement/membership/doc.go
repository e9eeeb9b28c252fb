// SPDX-License-Identifier: Apache-2.0

// Package membership keeps the members of a cluster in a database: processes join, renew a lease,
// and leave or are found dead; every process follows a topology that has versions.
//
//	members, err := membership.New(db, membership.Options{})
//	me, err := members.Join(ctx, membership.Self{Name: "bank-1", Address: "10.0.0.1:80", Kinds: []string{"account"}})
//	defer me.Leave(ctx) // others may have what is left at once
//	for topology, err := range members.Watch(ctx) {
//		if err != nil {
//			return err
//		}
//		log.Print(topology.Version, topology.Members)
//	}
//	<-me.Context().Done() // the member left, or others may take it for dead
//
// # Incarnations
//
// A member has a named lease of package leasefdb, and its incarnation is the epoch
// of the lease: it only grows, and is never used again. One process at a time is a
// member under a name. A second process gets an [ErrNameTaken] once it sees that the
// first is alive, and waits if the first is dead. A member that has lost its lease
// does not come back; it joins anew.
//
// # Death
//
// A member renews its lease three times in [Options.Duration], in a key of its own.
// Each member observes two others, those that follow it on a ring, and the next
// ones as soon as these do not renew. If a lease was not renewed for its whole
// duration on the observer's monotonic clock, the observer evicts the member, in
// one transaction that a renewal prevents. No two clocks are compared, and the
// database's versions do not count as time. So a recovery of the database, after
// which versions jump, evicts no member. By the time of the eviction the context of
// the member has ended, if its clock runs. On a machine that slept it ends late; fences
// refuse the writes of such a member, see Fence of a placement/host Activation.
//
// If the database cannot be reached for a whole duration the contexts of all
// members end, since no member can tell whether it was evicted.
//
// # Cost
//
// Each member makes, in each duration, three renewals, of one read and one write,
// and three looks that only read five keys in one round. So the load grows linearly
// with the members. A process that follows the topology waits for the version to
// change, by a watch in the database, and looks once in six durations in case the
// watch was lost. After each change each process makes one transaction, which reads
// all members. docs/benchmarks-parts.md has figures.
//
// # Another membership
//
// Programs that get their members from Kubernetes, memberlist or etcd pass them as
// a [Source]. In a program that chooses members by its topologies the source decides
// which members are alive; with placement/host (Options.Source) the database decides
// that.
//
// [Registry] and [Member] are safe for concurrent use. docs/layout.md has the keys.
package membership
