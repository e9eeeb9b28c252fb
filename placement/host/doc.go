// SPDX-License-Identifier: Apache-2.0

// Package host runs virtual actors: values with a name, each of which is active in
// one process of a cluster at a time, wherever its callers are. The first call
// makes an actor; an actor that is not called for a while ends.
//
//	h, err := host.New(db, host.Options{Name: "bank-1", Transport: transport})
//	accounts, err := host.Register(h, "account", openAccount)
//	deposit, err := host.Handle(accounts, "deposit", (*account).Deposit)
//	err = h.Start(ctx)
//	defer h.Stop(ctx)
//	balance, err := deposit.Call(ctx, "alice", Amount{100}) // wherever alice is active
//
//	func openAccount(ctx context.Context, a *host.Activation) (*account, error)
//	func (a *account) Deposit(ctx context.Context, by Amount) (Balance, error)
//
// Members and activations are recorded in a database (package kv). Each process
// gives its hosts a [Transport]; package placement/host/http2 has one. A process
// that only calls uses a [Client].
//
// # One at a time
//
// An [Activation] runs one call or timer at a time, in the order of their arrival.
// Its mailbox is bounded. It has a goroutine only while there is something to run.
// A handler that calls its own activation, directly or through others, would wait
// for itself. Such a call is refused with an [ErrCycle], if the handler passes
// its context on.
//
// # One owner
//
// A process that was suspended may go on with an activation that another process
// has by now. The activation's contexts end as soon as the process notices. The
// fence protects the data: write the data in transactions under [Activation.Fence],
// which the database refuses once the key has another owner.
//
//	records := AccountStoreOf(db.Under(a.Fence()))
//
// # Outcomes of a call
//
// A call is handled at most once. If it certainly was not handled, because no
// connection could be made or because the process answered that it does not have
// the activation, the caller sends it again, until the context ends. If its outcome
// is unknown, because a process died while it had the call, the error is an
// [ErrOutcomeUnknown]; a method that is [Idempotent] is called again instead. A
// process that gets a call for an activation of another process forwards it, at
// most [MaxForwards] times; the reply tells the caller its owner.
//
// # Ends
//
// An activation ends because it was idle, because its key belongs to another member after a change
// of the topology, because the host stops, or because it was lost. Before such an end it runs the
// calls in its mailbox; later calls go to the next activation of the key. If that takes longer
// than [Options.DeactivateTimeout], the contexts end,
// and the calls that have not begun also go to the next activation. After the last call the host
// calls Deactivate, see [Register].
//
// It also ends after a method that returns a kv.ErrOutcomeUnknown of its own transaction, or a
// method or timer that panics with one, such as one with a context that ended during the commit. Calls
// in its mailbox then go to the next activation. That commit may still be under way: what the next call
// read would be of a moment before it, and what the activation has in memory is as
// uncertain. The next activation's claim writes the key that the commit's fence has read, so
// by then the commit has landed, or it never does. A method that hides this error must
// read and write in one transaction, and so must a timer, which has no result, and
// Deactivate, which is called before the activation ends.
//
// A host that loses its membership ends all activations, and their contexts with the cause
// [placement.ErrActivationLost], and joins again under another incarnation. An outage
// of the database that is longer than [Options.Lease] does that to all hosts at once. So
// a host that has joined again spreads its first claims over a millisecond for each
// activation that it has lost, half a lease or five seconds at most: the first call of a
// key waits for so long at most.
//
// # Another membership
//
// A program that gets its members from Kubernetes, memberlist or etcd gives a host
// one function: [Options.Source]. Hosts still join the database, under the lease
// and the incarnation by which keys are claimed and data is fenced. So a key has
// one owner whatever the source says, even if it tells each process something else.
// The source decides which members are used:
//
//   - A member that the source does not list, or lists as draining, gets no new
//     activations, and hands over its own once it learns of that. Until then it still
//     gets the calls of its keys. If the member is dead, its keys are activated
//     elsewhere once the database has found that out, within [Options.Lease]. A source
//     that is certain of a death can call [membership.Registry.Evict], so that this
//     happens at once.
//   - A member that only the source lists, because it has died or has not started yet,
//     gets nothing.
//   - The source gives names, labels and versions; a label of the source prevails.
//     Kinds, addresses and incarnations are those that hosts register. So the source
//     may number incarnations as it likes.
//   - Versions grow within a call of the source. After the source has failed, the host
//     calls it again, and its last topology stays in force; it also stays after the
//     source returns nil. The topologies of the host have versions of their own: the
//     sum of both.
//   - While the source gives processes different topologies for long, two processes may
//     each take the other for the owner, and send a call to each other until its
//     context ends. It is never handled twice.
//
// A host starts before the source lists it, so that a readiness probe may wait for
// the start. It does not start before the source has delivered its first topology.
//
// # Errors
//
// Errors of package placement and of this package keep their type, whichever
// process they come from; so do those that a program registers: see
// [RegisterError]. Arguments, results and errors pass through the codec within a
// process as well, so that a program behaves the same with one process as with
// several.
package host
