// SPDX-License-Identifier: Apache-2.0

// Package sqlstore is the common part of the stores mysql and postgres: the tables,
// the statements of each call, and the migration of the schema. Each store gives it
// a [Server], which executes statements.
//
// # Tables
//
//	id_sequences       sequences, by key_name
//	id_configs         configurations of IDs, by key_name
//	distributed_locks  which process migrates the schema, for people
//	schema_versions    which migrations were made
//	id_documents       the other documents, by kind and key; and of configurations the version and expiry
//	id_state           numbers: the revision, and the floor of versions
//
// # Migrations
//
// Each statement but those of Init that find and make a schema has a condition on schema_versions ([Guard]), so that a worker neither writes nor
// reads tables that a newer program has migrated since.
//
// # Atomicity
//
// The server holds no lock while it waits for this process, except when a
// configuration is created, changed or deleted, which takes two rows. So a process
// that stops in the middle of a reservation blocks no other process.
//
// One UPDATE changes a sequence if its version is as expected. Whatever the
// isolation level, and whatever value a stale replica has returned, the second of
// two changes from the same version finds no row.
//
// Versions of documents grow over deletions. Before a document is deleted, a
// statement of its own raises the floor in id_state at least to the document's
// version. A new document gets the version floor + 1; the statement that inserts it
// reads the floor under a shared lock. So an insertion either reads the raised
// floor, or ends before the floor is raised, which is before the deletion.
package sqlstore
