// SPDX-License-Identifier: Apache-2.0

// Package stacktester executes the programs of FoundationDB's binding tester
// on an engine of this module, so that the tester that checks every official
// binding can drive this library too.
//
//	db, err := fdbkv.Open(clusterFile)
//	err = stacktester.Run(ctx, db, []byte("test_spec"))
//
// A program is a range of the database: each pair is one instruction for a
// stack machine, a packed tuple of its name and, for PUSH, its operand. The
// machine calls kv, tuple and directory as the instructions say and logs its
// stack into the database, where the binding tester compares it with what the
// machine of another binding logged. The instructions are specified in
// https://github.com/apple/foundationdb/tree/main/bindings/bindingtester/spec.
//
// Instructions on tenants are refused, because kv has none: run the binding tester
// with --no-tenants. For instructions that ask for the size of a range or for its
// split points, the machine only checks that the transaction is usable.
package stacktester
