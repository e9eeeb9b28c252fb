// SPDX-License-Identifier: Apache-2.0

// Package snowflake leases the worker ids of snowflake keys to clients, which make
// their IDs themselves.
//
//	leaser, err := snowflake.New(s, snowflake.Options{})
//	if err != nil {
//		return err
//	}
//	key := snowflake.Key{Name: "events", Version: doc.Version, Layout: snowflake.Layout{
//		SkipSize: 1, BaseTS: 1767225600000, TSSize: 41, WorkerIDSize: 10, SeqSize: 12,
//	}}
//	g, err := leaser.Lease(ctx, key, snowflake.Client{Renews: true})
//	if err != nil {
//		return err
//	}
//	// IDs of g.WorkerID with timestamps in [g.NotBefore, g.Expires); within g.Duration:
//	g, err = leaser.Lease(ctx, key, snowflake.Client{LeaseKey: g.LeaseKey})
//
// # Uniqueness
//
// A lease is a worker id and a stretch of time. Package lease grants them, and no
// two leases of a worker id ever share a millisecond, whatever the clocks of
// workers say: the end of a lease is stored before a client is told of it, and the
// next one begins there or later. A client that makes IDs only in [Grant.NotBefore,
// Grant.Expires), by its own clock, so never makes an ID that another client makes.
// A renewal moves Expires; it can be repeated if its answer was lost.
//
// # Clients that never ask again
//
// The libraries of the deployed worker take a worker id and look neither at the
// begin nor at the end of the lease. Since a worker cannot tell at first, the worker id of a
// client that does not say otherwise ([Client.Renews]) is kept for
// [Options.Hold], a day. No other client gets it before that, by the workers' clocks: where
// these go wrong, this promise does, too. A clock that is ahead of its worker's
// monotonic clock by more than a minute is not believed (see package lease); one
// that is wrong when its worker starts is. When such a client does
// ask again, it has shown that it knows leases, and its worker id is kept for
// as long as it was told, and [Options.Skew].
//
// A client that lives for longer than Hold may meet another one with its worker id.
// Worker ids are given in turn, those free for longest first, so one comes again after about
// 2^worker_id_size grants: with 1024 worker ids and 100 starts a day after
// ten days, as long as no more are held at once. If two clients that share a worker id
// make a and b IDs a second, both less than a thousand, about a·b/1000 IDs a
// second come twice: the sequence begins at 0 in each millisecond.
// No odds make that good: restart such clients within Hold, give the key enough bits, or use clients that
// ask again.
//
// The size: a key needs more than (starts of such clients in Hold) + (clients
// that ask again) worker ids, else [*ExhaustedError]. With 10 bits, and the
// default Hold, that is 1024 starts a day.
//
// # Changes of a layout
//
// A change of base_ts or of a size gives the bits of IDs another meaning, and may
// repeat IDs of the past: see [Layout.NoRepeatsFrom]. [Leaser.CheckChange] tells whether,
// and until when. Leases of the old layout are not renewed in a new one. [Leaser.Change] writes
// each document in which the old layouts have leased worker ids; if its context ends
// before, call it again: it goes on with the others.
//
// # Losses
//
// Leases that a store forgets while a worker runs are noticed, and nothing is granted until
// they have ended. A store that lost data may also forget leases of which no worker that runs knows:
// when an operator confirms such a loss, call [Leaser.Quarantine] for each key.
//
// # Where they are
//
// In documents of kind [store.Leases]: one for each key with its layouts, and one
// for each 64 worker ids, from the first lease of one of them. Each grant, renewal and release replaces one of the latter, if it is
// unchanged, so it holds on every home of package store.
package snowflake
