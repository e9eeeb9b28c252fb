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
// Blocks of lines. Spaces separate the words of a line:
//
//	type NAME [removed [confirmed]]
//	                               a persistable type
//	message NAME [removed]         a nested struct
//	origin PATH                    the Go package in which the type was first declared
//	id KIND                        the kind of the id in keys
//	directory "PATH"               elements; {Field} is the field's name
//	scatter N                      shards of the records
//	field NUMBER NAME KIND [enum NAME,…] [default VALUE] [was KIND…]
//	reserved NUMBER NAME KIND [enum NAME,…] [default VALUE] [was KIND…] [confirmed]
//
// In persist.lock only, as are enum and confirmed above:
//
//	index NAME SIGNATURE…
//	dropped NAME SIGNATURE… [confirmed]
//	                               an index that was removed
//	enum NAME                      a Go type of which there are constants
//	constant NAME VALUE [was NAME…]
//	constant NAME any              one that no record has, such as a count or a limit
//
// NUMBER and NAME of a field never change: one number never means two names, one
// name never has two numbers. KIND may change as the table of [Kind.Change] says,
// and only if the new line names the old kind after was. VALUE is a Go literal of a
// number, a string or a bool, without spaces. It never changes either: records that
// lack the field have it, and their index entries are made of it. The names of messages are
// labels, on which stored data does not depend: the comparison follows the fields,
// beginning at the type, and compares the contents of messages. So are those of enums.
//
// A constant keeps its VALUE, and a VALUE its constant, because records store the
// VALUE. One that was renamed names the old name after was. A constant that left the
// source keeps its line, so that a later one does not take its VALUE. Confirmed is
// written by hand: the author knows that what was removed is left behind.
package schema
