// SPDX-License-Identifier: Apache-2.0

// Package where reads conditions on the fields of records, as people write them:
//
//	e, err := where.Parse(`Status in (1, 2) and (Country = "DE" or CreatedAt >= 2026-01-01T00:00:00Z)`)
//
// The grammar, in which and binds closer than or, and words may be in capitals:
//
//	condition  = all { "or" all }
//	all        = one { "and" one }
//	one        = "(" condition ")" | field operator value | field "in" "(" value { "," value } ")"
//	operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | "prefix"
//	value      = a word without spaces, quotes, parentheses, commas and operators
//	           | a Go string in double quotes | a text in single quotes, as it is
//
// What a value means is not decided here: it depends on the kind of the field.
package where
