// SPDX-License-Identifier: Apache-2.0

// Package message has records and nested messages as values, without the Go code of
// their type: a [Type] is made of a schema's text, and a [Message] of it is read from
// stored bytes or from JSON, and written as either.
//
//	t, err := message.NewType(headerSchema)
//	m, err := t.Decode(payload, 0)
//	text := m.AppendJSON(nil)
//	again, err := t.ParseJSON(text)
//	payload, err = again.Append(nil)
//
// A message has exactly the bytes that the code of persistgen writes for a struct with
// the same values: fields in the order of their numbers, zeros only where the kind may
// be null or the field has a default, packed lists, maps in the order of their keys.
// Numbers that the schema does not have are left out when bytes are read.
//
// Types are immutable and safe for concurrent use. A message is for one goroutine
// while it is changed.
package message
