// SPDX-License-Identifier: Apache-2.0

// Package index keeps index entries consistent with records. It knows keys and
// entries, not Go types: package persistable calls it, and the code that persistgen
// writes, through package persistimpl.
//
// An index is a [Definition] with a place in the database. A [Set] collects the
// entries of a record. A [Change] is the difference between the entries of the
// stored record and those of the new one. [Claims] reads the owners of the unique
// keys, in the same round as the record:
//
//	e := set.Open(ix, id)
//	k := e.Begin()
//	k = tuple.AppendString(k, v.Number)
//	e.End(k)
//	err := set.Close(ix)
//	…
//	claims.Start(tx, indexes, &set)          // together with the read of the record
//	err = claims.Check(ctx, indexes, &set, &stored, id)
//	change, err := index.Plan(ctx, tx, indexes, &stored, &set)
//	…
//	buf = change.Write(was, is, buf)
//
// A [Kind] says what entries mean. [Count] and [Sum] keep no entry for each record, but one
// for each group, changed by atomic operations that read nothing. [Rank] has, besides entries,
// keys that follow from them. [Version] has the order of commits. A
// partial index has entries of the records that fulfil a condition, which the code that
// calls Begin has checked. [Descend] turns the order of a field round. [Set.EndCover]
// gives entries copies of chosen fields.
//
// [Shards] scatters keys with ids or values that grow with time over several ranges.
//
// [Bounds] is a range of an index's keys. [Fill] writes the entries of records that
// existed before their index, and records a value that is not unique as a
// [Violation].
//
// # Concurrency and transactions
//
// A Set, its Entries and Claims are for one goroutine and one attempt of a
// transaction, and may be reused for the next. Everything else is immutable.
// Attempts share no state: all functions may be called in a transaction function
// that runs again.
package index
