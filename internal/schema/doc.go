// SPDX-License-Identifier: Apache-2.0

// Package schema has the text that describes what stored data depends on, and the
// rules by which it may change. persistgen keeps the text of a package in
// persist.lock, and writes the text of each type into the generated code. The
// run-time keeps it in the header of each store. So there is one grammar and one
// comparison: [Succession] for a new and an old lock, [Coexistence] for a store and
// a program.
//
// # Text
//
// Blocks of lines, whose words are separated by spaces:
//
//	type NAME [removed]            a persistable type
//	message NAME [removed]         a nested struct
//	origin PATH                    the Go package in which the type was first declared
//	id KIND                        the kind of the id in keys
//	directory "PATH"               elements; {Field} is the field's name
//	scatter N                      shards of the records
//	field NUMBER NAME KIND [default VALUE] [was KIND…]
//	reserved NUMBER NAME KIND [default VALUE] [was KIND…]
//	index NAME SIGNATURE…          in persist.lock only
//	dropped NAME SIGNATURE…        an index that was removed; in persist.lock only
//
// NUMBER and NAME of a field never change: one number never means two names, one
// name never has two numbers. KIND may change as the table of [Kind.Change] says,
// and only if the new line names the old kind behind was. VALUE is a Go literal of a
// number, a string or a bool, without spaces. It never changes either: records that
// lack the field have it, and their index entries are made of it. The names of messages are
// labels, on which stored data does not depend: the comparison follows the fields,
// beginning at the type, and compares the contents of messages.
package schema
