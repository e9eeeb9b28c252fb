// SPDX-License-Identifier: Apache-2.0

// Package tuple encodes lists of values as keys; their byte order is the order of
// the values. It is byte-compatible with FoundationDB's tuple layer: it reads keys
// that any official binding has written, and the other way round.
//
//	key, err := tuple.Tuple{"R", "User", int64(42)}.Pack()
//	t, err := tuple.Unpack(key)          // ("R", "User", 42)
//	begin, end, err := tuple.Tuple{"R", "User"}.Range()
//
//	users := tuple.NewSubspace(prefix).Sub("R", "User")
//	key, err = users.Pack(tuple.Tuple{42})
//	t, err = users.Unpack(key)           // (42)
//	begin, end = users.Range()
//
// # Elements
//
// An element is nil, []byte, string, any Go integer type, [*big.Int] (up to
// 255 bytes), float32, float64, bool, [UUID], [Versionstamp] or a nested
// [Tuple]. Named types are not elements: convert them. Elements of one kind
// sort by value, integers of all sizes being one kind; kinds sort as follows:
//
//	nil < []byte < string < Tuple < integer < float32 < float64 < bool < UUID < Versionstamp
//
// A tuple sorts before every longer tuple that begins with it. Strings sort by
// their bytes, and need not be UTF-8. Floats sort by IEEE total order: -NaN,
// -Inf, …, -0, +0, …, +Inf, +NaN. [Compare] is the same order on values.
//
// [Unpack] returns an integer as int64 if it fits, else as uint64, else as
// [*big.Int]; other elements have the type that they were packed from.
//
// # Without allocation
//
// Generated and hot code appends elements one by one into a buffer of its own
// ([AppendString], [AppendInt], …) and reads them back by type ([ReadString],
// [ReadInt], …), or steps over them ([Skip], [Next]). A packed tuple is the
// concatenation of its packed elements; only nil inside a nested tuple is
// written differently, so nested tuples go through [AppendTuple].
//
// # What is refused
//
// Decoding never panics: bytes that are not a tuple give an [ErrMalformed] that names
// their position. If the behaviour of the official Go layer is well defined, decoding is
// as lenient (integers with leading zeros, a nested tuple closed by the end of the
// key, a text with escapes but no end), so packing again may give other bytes than
// those unpacked. If the official layer would read past the end of the key, this
// one refuses.
//
// # Concurrency and transactions
//
// All functions are pure and safe for concurrent use; [Subspace] is immutable and
// comparable. No function uses a database: all may be called inside a retried
// transaction function. A versionstamp is known only after the commit
// ([Tuple.PackVersionstamped]).
//
// The format is documented at
// https://github.com/apple/foundationdb/blob/main/design/tuple.md.
package tuple
