// SPDX-License-Identifier: Apache-2.0

// Package codegen is persistgen: it writes typed stores for annotated structs. A
// struct is persistable if it has a marker field of package persistable; persist
// struct tags say everything else:
//
//	//go:generate go tool persistgen
//
//	type Order struct {
//		_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
//		_ persistable.Index     `persist:"Status,CreatedAt"`
//
//		ID        idgen.ID
//		TenantID  string
//		Number    string `persist:"unique"`
//		Status    Status
//		CreatedAt time.Time
//	}
//
// # Tags
//
// Markers are blank fields: persistable.Type (the key-stable name, and scatter=N),
// persistable.Directory (a path with {Field}s, and layer=partition),
// persistable.Index and persistable.Unique (fields in order, each ascending or desc, a
// path such as Address.City for nested structs, then cover, where=…, scatter=N, name=…
// and withdeleted), persistable.Count, Sum, Min, Max and Rank (a field, by=…, where=…, name=…, withdeleted),
// persistable.Search (fields, where=…, name=…, withdeleted), persistable.Version. scatter=N scatters records, or the entries of an index that is
// not unique, over N shards, a power of two from 2 to 256.
//
// Options of other fields: index, unique, cover, scatter=N; fold compares a string without
// regard to case, in all of its indexes and in conditions; name=X keeps the stored name
// when the Go field is renamed; number=N chooses the field number; default=CONSTANT is
// what records have that were stored before the field was there; text stores by
// MarshalText; enum puts the names of the type's constants into the schema, for tools;
// created and updated have the library set a time; deleted has deletions set one, and
// leave the record where it is;
// min=, max=, maxlen= and match= bound what may be written;
// ref=TYPE says that the field has IDs of records of that type, with as=NAME,
// check, restrict and cascade; was=KIND allows a change of the field's kind from the one in
// persist.lock, and persistgen notes the consequences; id makes a field that is not
// named ID the ID; "-" leaves the field out. A blank field with the option name=X
// keeps the name of a nested struct. docs/tags.md explains each of them.
//
// # How it works
//
// [Run] works in phases, each a package below codegen/internal with a doc comment
// of its own. source loads packages with types and syntax, and executes none of
// their code. collector makes a model of them and checks it. lock compares the
// model with persist.lock and assigns field numbers. emitter writes the code. Run
// reports the faults of all packages at once, as [Diagnostics] with positions inside
// the tags: a fault of one package hides none of another.
//
// While the source is loaded, an empty file replaces an earlier output, which may
// be stale or broken. If the output is new, or there were type errors, Run checks
// the source again with the new output, and reports the type errors that remain.
// Those in function bodies, and in declarations that use generated code, are notes:
// Run still writes the output. The output depends only on the source. Run replaces
// files by rename, and only if they change.
//
// persist.lock is a text file to be committed. It pins what stored data depends on:
// field numbers, kinds, directories, scattering, index keys. Run refuses a change
// after which a program could not read stored data, or a running program could not
// read new data. If an output exists and the lock is missing, Run refuses as well,
// because fields would get other numbers. In CI, -check -against REVISION compares
// with the lock of the deployed revision, not only with the one generated last. The
// lock's lines of a type are also in the generated code and in the header of each
// store, where the run-time compares them.
//
// A nested struct may be renamed or moved to another package: the field that
// holds it tells which numbers are its own.
//
// # Rules
//
// Generated encoding appends to a buffer without allocating. Decoding returns an
// error for bytes that are not a record. A struct that contains itself is stored up
// to 1,000 levels deep.
//
// This package uses no database. [Run] may be called concurrently for different
// directories.
package codegen
