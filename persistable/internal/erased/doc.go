// SPDX-License-Identifier: Apache-2.0

// Package erased has schemas, stores, queries, fields and conditions without the
// type of their records.
//
// The Go compiler compiles the methods of a generic type again in every package
// that uses it, for every type argument. Package persistable therefore works on the
// types of this package, which have no type parameter for the record: a record is
// an any that holds a pointer to the struct. The generic types that a program uses
// are defined as these types, and their methods only call code that is compiled
// once:
//
//	type Query[T any] erased.Query
//
// So package persistimpl, which generated code uses, can convert one type into the
// other, and package persistable exports nothing for it. The fields of these types
// are unexported, because a program could see them.
package erased
