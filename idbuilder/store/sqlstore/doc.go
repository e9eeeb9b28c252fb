// SPDX-License-Identifier: Apache-2.0

// Package sqlstore is what the homes mysql and postgres have in common: the
// tables, how a call becomes statements, and how the schema is migrated. A home
// gives it a [Server], which executes statements.
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
// # Atomicity
//
// No lock is held while a call waits for this process, but for the creation,
// change and deletion of configurations, which are two rows: a
// process that stops in the middle of a reservation stops no other one.
//
// A sequence changes by a comparison of its version in one UPDATE. Whatever the
// isolation level, and whatever a stale replica has said about the value, of two
// changes from the same version the second finds no row.
//
// Versions of documents grow over deletions: before a document goes, the floor in
// id_state is raised to its version at least, in a statement of its own; a
// document that is created has the version floor + 1, read in the statement that
// inserts it, under a shared lock. So an insertion either reads the raised
// floor, or ends before the floor is raised, which is before the deletion.
package sqlstore
