// SPDX-License-Identifier: Apache-2.0

// Package codegen is persistgen: from annotated structs it writes typed stores.
// A struct is persistable if it has a marker field of the package persistable;
// everything else is said in persist struct tags:
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
// persistable.Index and persistable.Unique (fields in order, a path such as
// Address.City for nested structs, then cover, scatter=N and name=…). scatter=N
// scatters records, or the entries of an index that is not unique, over N shards,
// a power of two from 2 to 256.
//
// Options of other fields: index, unique, cover, scatter=N; name=X keeps the stored name
// when the Go field is renamed; number=N chooses the field number; text stores
// by MarshalText; was=KIND allows a change of the field's kind from the one in
// persist.lock, and persistgen notes the consequences; id makes a field that is not
// named ID the ID; "-" leaves the field out. A blank field with the option name=X keeps the name of a nested
// struct.
//
// # How it works
//
// [Run] works in phases, each a package below codegen/internal with a doc comment
// of its own: source loads packages with types and syntax and executes none of
// them; collector makes a model from it and checks the model; lock brings the model
// together with persist.lock; emitter writes the code. Each phase reports all its
// faults at once, as [Diagnostics] with positions inside the tags.
//
// While the source is loaded, an empty file replaces an earlier output, which may
// be stale or broken. If the output is new, or there were type errors, Run checks
// the source again with the new output, and reports the type errors that remain.
// Those in function bodies, and in declarations that use generated code, are notes:
// the output is written all the same. It depends on the source alone; files are
// replaced by rename, and only if they change.
//
// persist.lock, a text file to be committed, holds what stored data depends on:
// field numbers, kinds, directories, scattering, index keys. A change that data already
// stored, or programs still running, would not survive is refused. Without the
// lock an existing output is refused as well: fields would get other numbers. In
// CI, -check -against REVISION compares with the lock of what is deployed, and not
// just with what was generated last. What the lock says of a type is also in the
// generated code and in the header of each store, where the run-time compares.
//
// A nested struct may be renamed or moved to another package: the field that
// holds it tells which numbers are its own.
//
// # Rules
//
// Generated encoding appends to a buffer without allocating, and decoding
// returns errors for whatever bytes are not a record. A struct that contains
// itself is stored up to 1,000 levels deep.
//
// Nothing here touches a database. [Run] may be called concurrently for different directories.
package codegen
