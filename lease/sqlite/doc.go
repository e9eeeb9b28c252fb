// SPDX-License-Identifier: Apache-2.0

// Package sqlite leases machine ids from a SQLite file: for the processes of one
// machine, or behind a lease server. For a new file set [lease.Options.Fresh] for the
// first start: otherwise nothing is granted for eleven minutes, because a new file
// looks like one in the place of a lost one.
//
//	store, err := sqlite.Open("/var/lib/kazahana/leases.db", sqlite.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	provider, err := lease.NewServer(store, lease.Options{}) // for the first start: lease.Options{Fresh: true}
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: provider})
//
// Any number of processes may open the file. It holds a write-ahead log beside
// it and must lie on a local file system. The driver needs no cgo.
//
// Open creates a missing file. A service that is not in the file begins in
// quarantine, since the file may have been lost; if it was not,
// [lease.Server.EndQuarantine] ends that. After a file was restored from a backup, call
// [lease.Server.Quarantine], because it lacks the leases that were granted since.
//
// Everything in this package is safe for concurrent use.
package sqlite
