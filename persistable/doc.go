// SPDX-License-Identifier: Apache-2.0

// Package persistable stores Go structs in FoundationDB, or in the embedded
// engine, under ids of their own, with unique and compound indexes, and keeps
// every tenant in a directory of its own. persistgen writes, for each annotated
// struct, a typed store on top of this package:
//
//	engine, err := embedded.Open("data")
//	db, err := persistable.Open(ctx, engine)
//	orders := OrderStoreOf(db, "tenant-1")
//	o := orders.New(Order{Number: "A-1001", CreatedAt: time.Now()}) // the id and the tenant are set
//	err = orders.Create(ctx, o)
//	o, err = orders.ByNumber(ctx, "A-1001") // or ErrNotFound
//	for o, err := range orders.ByStatusCreatedAt(Pending).From(t0).Reverse().Limit(20).All(ctx) { … }
//	err = db.RemoveDirectory(ctx, "tenants", "tenant-1") // with all records and indexes
//
// # Tags
//
// Blank fields of the types [Type], [Directory], [Index], [Unique], [Count], [Sum],
// [Min], [Max], [Rank], [Search] and [Version] say where and how a struct is stored, and what is
// kept of it. The options of other fields, persist:"…":
//
//	index, unique   an index on this field alone
//	cover           its entries hold a copy of the record
//	scatter=N       its entries are scattered over N shards
//	fold            texts that differ in case only are equal, in all indexes and conditions
//	name=X          the stored name, kept when the Go field is renamed
//	number=N        the field's number
//	default=C       what a record has that was stored before the field was there
//	ref=T           the field has ids of records of type T; with check, restrict or cascade
//	was=KIND        accept a change of the field's kind from the one in persist.lock
//	enum            tools show the names of the type's constants
//	created         the library sets the time of the record's creation
//	updated         and that of its last write
//	deleted         Delete sets the time, and leaves the record where it is
//	withdeleted     the index has deleted records, too
//	min=C, max=C    the least and the greatest number or duration that may be written
//	maxlen=N        how many characters, bytes or elements
//	match=PATTERN   a regular expression: a string constant, or in single quotes
//	text            stored by MarshalText
//	id              this field is the ID, although it is not named ID
//	-               not stored
//
// An index of one field has no direction, since Reverse turns any query around. In
// an index of several fields each may be descending, persist:"Status,CreatedAt desc",
// for queries with fields that run in different directions. Other options are errors.
// docs/tags.md explains each option, the ranges of nullable fields, and page tokens;
// docs/changing-a-schema.md the order in which to deploy a changed schema.
//
// # Constructors
//
// NewOrder takes a literal of the struct and returns a pointer to a copy with an
// id. The New of a store sets the {Field}s of its directory as well. Both panic on
// a literal that has an id, and New on one of another directory, because these are
// faults of the program. For a record with a known id use [Store.CreateWithID].
// Before [Open], after [DB.Close], and while the generator has no ID, the id stays
// zero; [Store.Create] then makes it.
//
// # Hooks
//
// A type may have the methods BeforeCreate, BeforeSave and Validate, each without arguments
// and with an error as its result, on a pointer receiver. They are called in this order:
//
//   - BeforeCreate: by Create, CreateWithID, GetOrCreate and the creations of many,
//   - BeforeSave: by these, by every kind of Save, and by Update,
//   - Validate: by all of them, last, when the bounds of the fields have been checked.
//
// If one returns an error, nothing is written, and the operation returns an [ErrRefused] that
// wraps it.
//
// They are called once per call of the operation, before its first attempt, when the
// record has its id; in Update they are called after each run of its function. In
// a transaction they are called as often as its function calls the operation. They
// may change everything in the record except its id. Only where the program assigns the
// ids may BeforeCreate or BeforeSave set it. Where the caller names a record that way, in
// CreateWithID, SaveExisting, SaveIfUnchanged, SaveIfVersion and Update, another id is a
// *[FieldError]. They must have no other effect, and
// they are not called for records that Update or a query reads.
//
// Each of them may take the context and the transaction instead, to write other records with this
// one:
//
//	func (o *Order) BeforeSave(ctx context.Context, tx persistable.Tx) error
//
// If one does, all of them are called in the transaction, in each attempt, on the record as
// the attempt before has left it. Other stores are made of [Tx.DB] and bound to tx by In. If the write
// fails after a hook has written, the transaction cannot be committed. An error of the engine, or of ctx,
// is returned without ErrRefused.
//
// BeforeDelete(ctx context.Context, tx persistable.Tx) error is called by Delete, DeleteIfUnchanged,
// DeleteMany and DeleteWhere, in the transaction, on the record that is about to be deleted, if there is one.
//
// AfterCommit(ctx context.Context) is called when a transaction has committed, once for each record
// that it has created or changed, in the last form that it has written: after [DB.Transact] or the single
// operation has committed, before it returns. It is not called if the outcome is unknown, nor in a
// transaction that the caller commits; see [DB.In]. It does not belong to the transaction any more.
//
// # Blobs
//
// A field of type [Blob] refers to a content of any size. [BlobsOf] returns what writes and reads the contents of
// a store as streams. The transaction that writes a record attaches the contents to which it refers, and removes
// those to which it does not refer any more; the one that deletes the record removes all. A content belongs to one
// record. Contents that no record has got are removed by [Blobs.RemoveUploads].
//
// # Transactions
//
// Every operation is one transaction: it sees one version of the database, the
// scan of an index and the fetch of its records included, and it commits as a
// whole or not at all. [DB.Transact] makes several operations, on any stores,
// one transaction; [Store.In] binds a store to it; [DB.In] takes a transaction
// that the caller has opened with package kv. A function given to Transact may
// run more than once and must have no effect outside of the transaction. Make
// ids before it.
//
// A Transact that creates records takes effect exactly once: if the acknowledgement
// of a commit is lost, a token in the header of a created record shows that the
// transaction did commit. Create therefore never reports [ErrExists] for its own
// record.
//
// # Indexes
//
// A write updates the entries by comparison with the stored record, never with the
// caller's copy. An index that is added to a type with records is disabled until
// [Indexes.Build] has run; its queries return an [ErrNotBuilt]. Programs
// that do not have the index maintain it as well, from the definition in the header of
// the store. One that cannot refuses to write there, with an [ErrForeignIndex].
//
// # Scattering
//
// Ids, and values such as times, that grow with every record are all written at
// one end of a key range; on a cluster one storage server then has all the
// work. A type or an index with the option scatter=N has N such ends: the shard,
// a hash of the id, stands before the id or the values in the key. Queries read the
// N ranges in one round and merge them into one order; pages, limits, conflicts and
// round trips stay as they are. The first record that is written to a directory
// decides how the directory is scattered.
//
// # Tenants
//
// With a {Field} in a type's directory, each value of the field has a directory of
// its own. A store that was opened for one tenant cannot reach the records of
// another, and refuses records of another tenant. The first write creates the
// directory. Directories are cached, but no write reaches a directory that was
// removed or moved.
//
// # Concurrency
//
// [DB], [Store], [Query] and [RangeQuery] are immutable and safe for concurrent
// use. A [Scan] is for one goroutine at a time, and each of its parts for another. A
// [Tx] may be used by several goroutines, for operations that do not depend on each
// other's writes, until its function returns. A read of a record does depend on a write
// of the same record in the same Tx that runs at the same time: of a record that has
// several values, because it is larger than 100 kB, it may return a mixture of both forms.
//
// # Layout
//
// docs/layout.md documents the bytes of every key and value.
package persistable
