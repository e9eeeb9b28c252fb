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
//		coordinator.UpdateTopology(topology, time.Now())
//	}
//	<-me.Context().Done() // the member left, or others may take it for dead
//
// # Incarnations
//
// A member is a named lease of package leasefdb, and its incarnation is the epoch of that: it only
// grows, and is never used again. One run of a name is a member at a time: a
// second one gets a *[NameError] once it sees that the first is alive, and waits if that
// is dead. A member that has lost its lease does not come back; it joins anew.
//
// # Death
//
// A member renews its lease three times in [Options.Duration], in a key of its own. Each
// member looks at two others, those that follow it on a ring, and at the next ones as soon as
// these do not renew. One that has not been renewed for its whole duration on the observer's
// monotonic clock is evicted, in one transaction that a renewal prevents. No two
// clocks are compared, and none is asked about versions, so that a recovery of the
// database, which lets versions jump, kills no member. By the time of the eviction the
// context of a member whose clock runs has ended. Those of machines that slept end late: what
// they write is refused by fences, see package placement/kvstore.
//
// A database that cannot be reached for a whole duration ends the contexts of all
// members, since none can tell whether it was evicted.
//
// # Cost
//
// For each member and duration: three renewals, of one read and one write, and three
// looks that only read, of five keys in one round. That is O(members), not
// its square. A process that watches sleeps until the version changes: a watch in
// the database, and a look in six durations in case it was lost. Each change costs each
// process one transaction, which reads all members. docs/benchmarks.md has figures.
//
// # Another membership
//
// Programs that have another membership, from Kubernetes, memberlist or etcd, pass it as a
// [Source]: to a driver of package placement/driver, which believes it which members are alive, or
// to placement/host by Options.Source, which asks the database for that.
//
// [Registry] and [Member] are safe for concurrent use. docs/layout.md has the keys.
package membership
