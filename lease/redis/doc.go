// SPDX-License-Identifier: Apache-2.0

// Package redis leases machine ids from Redis, alone or in a cluster. On a new
// Redis set [lease.Options.Fresh] for the first start: otherwise nothing is granted
// for eleven minutes, because a new Redis looks like one that has lost its leases.
//
//	client := goredis.NewClient(&goredis.Options{Addr: "redis:6379"})
//	defer client.Close()
//	store, err := redis.New(client, redis.Options{})
//	if err != nil {
//		return err
//	}
//	provider, err := lease.NewServer(store, lease.Options{}) // for the first start: lease.Options{Fresh: true}
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: provider})
//
// Leases begin by the clock of the Redis server, never by that of a client. A
// service has two keys, whose names share a hash tag; each commit is one script
// that compares what was read before it writes.
//
// # Losses
//
// Redis acknowledges writes that a crash or a failover can take back. The store
// records which server it used: after a restart, a failover or a flush, a service
// is in quarantine for as long as a lease lasts, and a minute. If nothing was lost,
// [lease.Server.EndQuarantine] ends that. Until then clients go
// on with the leases that they have, then with the fallback bit. [Options.Durable]
// turns that off for a Redis that cannot lose writes.
//
// After a partition of the network a master that was cut off may go on serving the
// clients on its side, and clients on the other side do not notice. If replicas can
// take over, set min-replicas-to-write to 1 and min-replicas-max-lag to a few
// seconds: the old master then refuses to grant. Set maxmemory-policy to
// noeviction.
//
// Everything in this package is safe for concurrent use.
package redis
