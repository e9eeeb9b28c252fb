// SPDX-License-Identifier: Apache-2.0

package tuple

// Type codes: the first byte of a packed element. Their order is the order of
// the kinds. An integer of n bytes (0 to 8) has the code codeZero+n, or
// codeZero-n if negative.
const (
	codeNil          = 0x00
	codeBytes        = 0x01
	codeString       = 0x02
	codeNested       = 0x05
	codeBigNegative  = 0x0b
	codeNegative8    = 0x0c
	codeZero         = 0x14
	codePositive8    = 0x1c
	codeBigPositive  = 0x1d
	codeFloat32      = 0x20
	codeFloat64      = 0x21
	codeFalse        = 0x26
	codeTrue         = 0x27
	codeUUID         = 0x30
	codeVersionstamp = 0x33
)

// escape follows a zero byte that is content: inside bytes and strings, and
// where a nested tuple holds nil. No type code is as high, so a zero byte
// without it is always the end.
const escape = 0xff

// maxDepth bounds how deep tuples nest, so that hostile input cannot exhaust
// the stack. A key of FoundationDB has at most so many bytes, hence at most so
// many levels.
const maxDepth = 10_000

// maxBigIntBytes is the longest magnitude of an integer: its length is one byte.
const maxBigIntBytes = 255
