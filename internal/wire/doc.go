// SPDX-License-Identifier: Apache-2.0

// Package wire reads and writes records in the protobuf wire format. It is the
// run-time of the encode and decode functions that persistgen writes, which call it
// through package persistimpl.
//
// Writing appends to a buffer, so that encoding into a reused buffer does not
// allocate. Field tags are literal bytes:
//
//	if v.Name != "" {
//		b = append(b, 0x12) // field 2, length-delimited
//		b = wire.AppendString(b, v.Name)
//	}
//
// Reading walks over the fields of a message:
//
//	r := wire.NewReader(b)
//	for r.Next() {
//		switch r.Field() {
//		case 2:
//			v.Name = r.String()
//		default:
//			r.Skip()
//		}
//	}
//	return r.Err()
//
// A [Reader] accepts any bytes: malformed input gives a *[Error] with its offset,
// never a panic. A Reader is for one goroutine. This package uses no database.
//
// https://protobuf.dev/programming-guides/encoding describes the format.
package wire
