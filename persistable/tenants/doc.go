// SPDX-License-Identifier: Apache-2.0

// Package tenants lists, measures, moves, copies, exports, imports and deletes
// tenants, locks them against writes, and bounds what they hold.
//
// A tenant is a directory with all that is in it: the directory of a {Field} in the
// Directory tag of a type. The tenants of tenants/{TenantID}/orders are
//
//	all := tenants.Of(db, "tenants")
//	for name, err := range all.List(ctx) { … }
//	err := all.Delete(ctx, "tenant-1")
//
// # Names
//
// A name is what a generated store takes as argument: any text of UTF-8 of 1 to
// 4,096 bytes. Names are compared byte by byte. They are never joined to a path or
// normalized, so "/", ".." and characters that look alike have no special meaning: each
// name is another tenant. Refused are directories that the database itself needs.
//
// # One state, never a mixture
//
// [Set.Copy] and [Set.Export] read one state of the tenant, or fail. Without a lock
// they read one version, which is possible for five seconds: enough for some ten
// megabytes. For a larger tenant take a [Lock]. While it is locked, writes
// through its stores fail with a persistable.ErrLocked, in all processes; reads
// go on. There is no third way, because a copy of several versions would have index
// entries without records, and sums that are not those of its records.
//
// The lock binds stores, and the verbs of this library that change directories. A program
// that writes into the directories of the tenant by keys of its own must look at
// [Set.LockOf] itself, and one that moves or removes them at [CheckUnlocked].
//
// # Other processes
//
// Stores remember directories, and confirm with each transaction that nothing was
// moved, removed or locked since. So no process writes into a tenant that was moved
// or deleted, or reads it at its old name: a store of that name finds no records,
// and its next Create makes a new, empty tenant.
//
// All verbs may be called concurrently, by any number of processes. Those that take
// several transactions (Copy, Import, Delete, SetQuota) can be interrupted at any
// point, also by kill -9: what they have not finished is not visible, and another
// call continues it.
package tenants
