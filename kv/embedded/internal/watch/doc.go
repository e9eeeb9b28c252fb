// SPDX-License-Identifier: Apache-2.0

// Package watch holds the watches of a database.
//
// A transaction makes a watch with [Table.Add] and gives it to its commit. When that
// has succeeded, the committer arms it with [Table.Arm]. From then on each batch of
// commits calls [Table.FireChanged] after it is published. A watch fires if its key
// has another value than the transaction saw; a change that is undone may be missed.
package watch
