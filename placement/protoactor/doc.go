// SPDX-License-Identifier: Apache-2.0

// Package protoactor gives clusters of github.com/asynkron/protoactor-go virtual actors that are
// active once: an identity lookup with claims that are rows of a database, and a
// cluster provider with its members in the same database. Consul, etcd or ZooKeeper is
// not needed.
//
//	node, err := protoactor.New(db, protoactor.Options{Name: "bank-1"})
//	config := cluster.Configure("bank", node.Provider(), node.Lookup(), remote.Configure(host, port), cluster.WithKinds(accounts))
//	c := cluster.New(actor.NewActorSystem(), config)
//	c.StartMember()
//	defer c.Shutdown(true)
//
//	balance, err := c.Request("alice", "account", &Deposit{Amount: 100})
//
// Everything else is protoactor-go's: kinds, props, requests, supervision.
//
// # What is promised
//
// protoactor-go's own lookup hashes: while members see the cluster differently, an
// identity may have two actors. With this package a member claims an identity in a
// transaction before it spawns the actor, under an epoch that only grows. Other
// members learn the owner, so that one actor of an identity is active at a time. A
// member that is killed loses its claims when its lease has lapsed, after
// [Options.Duration]; requests go to the actors of other members then.
//
// A process that was suspended, or cut off from the database, may run on for a
// moment after others have taken over; a lease cannot exclude that. The database
// refuses what its actors then write under their fence:
//
//	func (c *account) Receive(ctx actor.Context) {
//		a := protoactor.ActivationOf(ctx)
//		err := a.Fence().Under(db).Transact(ctx2, …) // a leasefdb.ErrLeaseLost if another member has the identity
//	}
//
// A fence orders the writes of different activations, not those of one. Where a transaction under the
// fence ends with an unknown outcome (kv.IsOutcomeUnknown), because its context ended during the
// commit, that commit may still land, after the actor has read the old state for its next message. So the
// activation ends then. The actor handles no more messages: those in its mailbox become dead letters, and
// requests among them go to the next activation. Its claim settles the commit: it has landed
// before that, or never does. Let the sender of the message see the error. The fence notices what databases of
// [leasefdb.Fence.Under] and of persistable's DB.Under commit. An actor that commits in another way, by
// CommitAsync or by persistable's DB.In, stops itself: ctx.Stop(ctx.Self()).
//
// The contexts of its activations, [Activation.Context], end at the latest when the
// member's lease lapses, counted from before its last renewal.
//
// # The life of an actor
//
// An actor is spawned at the first lookup of its identity, on the member that
// [Options.Strategy] chooses of those that have its kind and are not about to
// leave. It ends when it stops itself; after [Options.IdleAfter]; when the identity
// is looked up after a change of the members and now belongs to another one; and
// when its member leaves: [cluster.Cluster.Shutdown] hands everything over. Before
// it ends it handles the messages that it was sent. A restart by its supervisor
// keeps the activation.
//
// A PID contains the epoch, so a later activation never handles a message to a
// former one: the message becomes a dead letter, and Request looks the identity up
// anew.
//
// # Limits of protoactor-go
//
// Kinds must not contain ".": its cache of PIDs would mix up identities. RequestFuture of all
// clusters of a process sends from the first one. A member that has left or was
// evicted is blocked for ever under the id of its actor system, so a lost member
// begins anew with a new actor system: wait for [Node.Context].
//
// The package is a module of its own, on which the rest of this project does not
// depend.
package protoactor
