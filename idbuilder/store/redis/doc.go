// SPDX-License-Identifier: Apache-2.0

// Package redis keeps the state of the ID service in Redis, version 6 or later:
// one server, one behind Sentinel, or a cluster.
//
//	client := goredis.NewClient(&goredis.Options{Addr: "redis:6379"})
//	defer client.Close()
//	s, err := redis.New(client, redis.Options{})
//	if err != nil {
//		return err
//	}
//	if err := s.Init(ctx); err != nil { // store.ErrLost: see below
//		return err
//	}
//
// # Keys
//
//	idbuilder:seq:orders         the last number of a sequence that was reserved
//	idbuilder:seqmeta:orders     a hash: its version, and what Confirm needs
//	idbuilder:cfg:orders         a configuration, JSON
//	idbuilder:doc:token:orders   another document, JSON
//	idbuilder:docmeta:token:…    a hash: its version, type and times
//	idbuilder:docs:token         a sorted set of the keys of a kind
//	idbuilder:expiring           a sorted set of documents, by when they expire
//	idbuilder:server             a hash: which server may give numbers
//	idbuilder:version            a counter, from which documents have their versions
//	idbuilder:revision           a counter
//	idbuilder:schema:version     1
//	idbuilder:lock:schema        held while the schema is made
//
// Each call is one script; a script changes nothing unless the schema and the
// server are those that it expects. All keys of a script must lie in one slot of
// a cluster. There the prefix is therefore in braces, {idbuilder}:seq:orders, and
// one master keeps the whole service: a reservation takes many numbers, so that
// one master serves millions of IDs a second, and the cluster keeps it available.
//
// Numbers in Lua are exact up to 2^53 only. Scripts compare numbers as text, add
// by INCRBY, and leave the rest to the client. They store its result if
// nothing has changed.
//
// # Losses
//
// Redis acknowledges writes that a crash or a failover can take back: replication
// is asynchronous, and a log is synced once a second unless configured otherwise. A
// sequence would then give numbers again. So the store records which server gave
// numbers last: its run id, which changes with each start, and its replication id,
// which changes with each promotion. If another server answers, or the same one
// after a restart, each call that writes returns [store.ErrLost], on all workers,
// until an operator calls [Store.Confirm], with the number of numbers to skip, at
// least those that may have been lost. The same holds if a sequence has gone back
// below a version that this process has seen, or has lost its value.
//
// The replication id also changes when the first replica is attached, and when the
// last replica has been away for an hour (repl-backlog-ttl); if nothing else has
// happened, confirm with 0. Moving the slot to another master of the cluster needs
// a confirmation, too.
//
// [Options.Durable] is for a Redis that syncs each write before it answers (appendonly
// yes, appendfsync always) and has no failover: then a restart loses nothing, and
// needs no confirmation.
//
// The store cannot notice some losses. A Redis that has lost everything looks like
// a new one to workers that start afterwards; running workers stop with
// [store.ErrNoSchema]. A master that was cut off may go on serving the workers on
// its side of a partition while another master is promoted and confirmed on the
// other side; both then give the same numbers. If replicas can take over, set
// min-replicas-to-write to 1 and min-replicas-max-lag to a few seconds.
//
// # Replicas
//
// With [Options.WaitReplicas] each call that writes waits (WAIT) until that many
// replicas have received the write, or fails with an unknown outcome. This makes
// losses rare, but does not exclude them: replicas acknowledge writes in memory,
// and the promoted replica need not be one of those that acknowledged.
//
// # No Redlock
//
// The store does not use the Redlock algorithm. Its locks expire by the clocks of
// several servers, so if a process stalls or a clock jumps, two processes can hold
// a lock at once (M. Kleppmann, How to do distributed locking, 2016). The store
// needs no lock: each call is atomic by itself. While a worker makes the schema, a
// lock (SET NX PX) lets the other workers wait; even if two workers held it, the
// script would make the schema only once.
//
// Everything in this package is safe for concurrent use.
package redis
