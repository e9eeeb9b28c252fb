// SPDX-License-Identifier: Apache-2.0

// Package doctor examines a whole database and finds damage: directories, headers of
// stores, records, index entries, counts, tenants, leases, elections, members, owners of
// virtual actors, the documents of the ID service. It needs no Go code of the types, and
// writes nothing:
//
//	report, err := doctor.Examine(ctx, db, doctor.Options{}, func(f doctor.Finding) {
//		fmt.Println(f)
//	})
//	if err != nil {
//		return err // the examination ended early
//	}
//	fmt.Println(report.Damage, "places are damaged")
//
// Each finding has a [Code]; [Codes] lists all of them. docs/operations.md says what to do.
// Faults of the cluster that the database is on come from package cluster.
//
// # Concurrency and transactions
//
// Examine may run while programs read and write. It takes as many transactions as it needs, and
// compares only what it has read in one transaction, so a concurrent write makes no finding. Memory
// is bounded by the directories of one partition, or of the root, and by the groups of
// counts and sums that are compared. A transaction examines some MB of records for about a
// second, or a single record; what cannot be read within the lifetime of a version is
// reported as [NotExamined].
package doctor
