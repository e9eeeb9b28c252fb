// SPDX-License-Identifier: Apache-2.0

// Package dynamic opens stores without the Go code of their types, by what their headers
// say. Tools show, change and check records with it:
//
//	for at, err := range dynamic.Stores(ctx, db) {
//		…
//		s, err := dynamic.Open(ctx, db, at.Path, at.Type)
//		id, err := s.ParseID("72623859790382856")
//		r, err := s.Get(ctx, id)
//		text, err := json.Marshal(r)
//		…
//	}
//
// A [Store] is a [persistable.Store] of [*Record] and [ID]: the engine is the one that
// generated code uses, and so are keys and bytes. A record has exactly the bytes that
// generated code writes for the same values.
//
// What only Go code can do does not happen here: the hooks of the type (BeforeCreate,
// BeforeSave, Validate, BeforeDelete, AfterCommit) do not run, and fields that refer to other records
// are not checked. The bounds of fields (min, max, maxlen, match) are checked, as everywhere.
//
// # Values
//
// In JSON a field is, by its kind: an integer a number, or with the option enum the name of
// its constant, if it has one; a float a number, "NaN",
// "Infinity" or "-Infinity"; a kazahana ID its decimal digits, as text; 16 bytes a UUID as
// text, and read also as a ULID; other bytes base64; a time RFC 3339 with nanoseconds; a
// duration as Go writes it, such as 1m30s; a nested struct an object; a list a list; a map
// an object; null is an absent value of a field that may be null. What a type marshals to
// text or bytes by itself is that text, or base64, which nothing checks here. A blob is the text of
// [persistable.Blob]: the reference, without the content. A record can be written where it has the content
// already; with a content that it does not have, a write returns a [persistable.ErrNoBlob].
//
// # Indexes
//
// Writes maintain all indexes of the header, with entries computed from the record's bytes
// (package reindex). If the header has an index for which that is not possible,
// every write returns a [persistable.ErrForeignIndex]. A store that was moved by hand, so that
// its path does not end as its schema says, can be read but not written.
//
// # Concurrency and transactions
//
// A Store is immutable and for any number of goroutines. Its operations belong to a
// transaction as those of [persistable.Store] do. If another program changes the header,
// they follow it: a Store never writes by an old definition of an index.
package dynamic
