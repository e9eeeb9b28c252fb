// SPDX-License-Identifier: Apache-2.0

// Package bazaar has generated types of many kinds and indexes, and writes a small
// database of several tenants with them, for tests of tools that know only the database:
//
//	err := bazaar.Seed(ctx, engine)
//
// The database is the same each time, but for prefixes, tokens and versions:
//
//	tenants/tenant-1, tenant-2, tenant-3   partitions, with 24, 5 and 1 orders
//	tenants/…/orders    Order: unique, compound, partial, covering, scattered and slice
//	                    indexes, counts, sums, ranks; versions and a change feed
//	tenants/…/accounts  Account: ULIDs, scattered records; written by two programs, so
//	                    that the header has a history
//	events              Event: ULIDs; times of years that have five digits, too
//	counters            Counter: integer ids that the program assigns
//	settings            Setting: its header has an index that needs a newer program, so
//	                    that this one refuses writes
package bazaar
