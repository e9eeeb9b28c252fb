// SPDX-License-Identifier: Apache-2.0

// Package sqlite leases machine ids from a SQLite file: for the processes of one
// machine, or behind a lease server.
//
//	store, err := sqlite.Open("/var/lib/kazahana/leases.db", sqlite.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	provider, err := lease.NewServer(store, lease.Options{})
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: provider})
//
// Any number of processes may open the file. It holds a write-ahead log beside
// it and must lie on a local file system. The driver needs no cgo.
//
// A file that is missing is created, and a service that is not in it is in
// quarantine first, since the file may have been lost; for one that is known to
// be new set [lease.Options.Fresh]. After a file was restored from a backup, call
// [lease.Server.Quarantine]: the leases granted since are not in it.
//
// Everything in this package is safe for concurrent use.
package sqlite
