// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is a wire type: how many bytes a field's value has.
type Type = protowire.Type

// The wire types.
const (
	VarintType  = protowire.VarintType
	Fixed32Type = protowire.Fixed32Type
	Fixed64Type = protowire.Fixed64Type
	BytesType   = protowire.BytesType
)

// Error tells where and why bytes are not a message of the expected type.
type Error struct {
	Offset int    // bytes from the start of the innermost message
	Field  int32  // number of the field being read; 0 while reading a tag
	Reason string // what is wrong
	Err    error  // the nested message's error, if any
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("wire: offset %d, field %d: %v", e.Offset, e.Field, e.Err)
	}
	return fmt.Sprintf("wire: offset %d, field %d: %s", e.Offset, e.Field, e.Reason)
}

// Unwrap returns the nested error.
func (e *Error) Unwrap() error { return e.Err }

// Reader walks over the fields of one message. After the first fault every
// method returns a zero value and [Reader.Err] the fault.
type Reader struct {
	buf       []byte
	pos       int
	field     int32
	typ       Type
	packedEnd int  // end of the packed list being read, or 0
	once      bool // the one element of an unpacked repeated field was handed out
	err       error
	strings   *Strings
}

// NewReader returns a reader of the message b. The reader aliases b.
func NewReader(b []byte) Reader { return Reader{buf: b} }

// Next moves to the next field and reports whether there is one.
func (r *Reader) Next() bool {
	if r.err != nil || r.pos >= len(r.buf) {
		return false
	}
	r.once, r.packedEnd = false, 0
	if tag := r.buf[r.pos]; 8 <= tag && tag < 0x80 { // a field below 16
		r.pos++
		r.field, r.typ = int32(tag>>3), Type(tag&7)
		return true
	}
	return r.nextLong()
}

// nextLong reads a tag of more than one byte.
func (r *Reader) nextLong() bool {
	tag, n := r.varint(r.pos)
	num, typ := protowire.DecodeTag(tag)
	switch {
	case n < 0:
		r.field = 0
		return r.fail("the tag is cut off or longer than ten bytes")
	case num < protowire.MinValidNumber || tag>>3 > uint64(protowire.MaxValidNumber):
		r.field = 0
		return r.fail("the field number is out of range")
	}
	r.pos += n
	r.field, r.typ = int32(num), typ
	return true
}

// Field returns the number of the current field.
func (r *Reader) Field() int32 { return r.field }

// Err returns the first fault, a *[Error], or nil.
func (r *Reader) Err() error { return r.err }

// Check records the error of a nested message's decoding.
func (r *Reader) Check(err error) {
	if err != nil && r.err == nil {
		r.err = &Error{Offset: r.pos, Field: r.field, Err: err}
	}
}

func (r *Reader) fail(reason string) bool {
	if r.err == nil {
		r.err = &Error{Offset: r.pos, Field: r.field, Reason: reason}
	}
	return false
}

func (r *Reader) varint(at int) (uint64, int) {
	if b := r.buf; at < len(b) && b[at] < 0x80 {
		return uint64(b[at]), 1
	}
	return protowire.ConsumeVarint(r.buf[at:])
}

// want checks the wire type of the current field.
func (r *Reader) want(t Type) bool {
	if r.err != nil {
		return false
	}
	if r.typ != t {
		return r.fail(fmt.Sprintf("wire type %d where %d belongs", r.typ, t))
	}
	return true
}

// Varint reads a uint64 field.
func (r *Reader) Varint() uint64 {
	if !r.want(VarintType) {
		return 0
	}
	v, n := r.varint(r.pos)
	if n < 0 {
		r.fail("the varint is cut off or longer than ten bytes")
		return 0
	}
	r.pos += n
	return v
}

// Zigzag reads a sint64 field.
func (r *Reader) Zigzag() int64 { return protowire.DecodeZigZag(r.Varint()) }

// Bool reads a bool field.
func (r *Reader) Bool() bool { return r.Varint() != 0 }

// Int reads a sint64 field for an integer type of the given bits and faults if
// the value does not fit.
func (r *Reader) Int(bits int) int64 {
	v := r.Zigzag()
	if v<<(64-bits)>>(64-bits) != v {
		r.fail(fmt.Sprintf("%d does not fit in %d bits", v, bits))
		return 0
	}
	return v
}

// Uint reads a uint64 field for an unsigned type of the given bits and faults
// if the value does not fit.
func (r *Reader) Uint(bits int) uint64 {
	v := r.Varint()
	if v<<(64-bits)>>(64-bits) != v {
		r.fail(fmt.Sprintf("%d does not fit in %d bits", v, bits))
		return 0
	}
	return v
}

// Fixed32 reads a fixed32 field.
func (r *Reader) Fixed32() uint32 {
	if !r.want(Fixed32Type) {
		return 0
	}
	v, n := protowire.ConsumeFixed32(r.buf[r.pos:])
	if n < 0 {
		r.fail("fewer than four bytes are left")
		return 0
	}
	r.pos += n
	return v
}

// Fixed64 reads a fixed64 field.
func (r *Reader) Fixed64() uint64 {
	if !r.want(Fixed64Type) {
		return 0
	}
	v, n := protowire.ConsumeFixed64(r.buf[r.pos:])
	if n < 0 {
		r.fail("fewer than eight bytes are left")
		return 0
	}
	r.pos += n
	return v
}

// Float32 reads a float field.
func (r *Reader) Float32() float32 { return math.Float32frombits(r.Fixed32()) }

// Float64 reads a double field.
func (r *Reader) Float64() float64 { return math.Float64frombits(r.Fixed64()) }

// Message returns the bytes of a nested message, aliasing the input.
func (r *Reader) Message() []byte {
	if r.err != nil || r.typ != BytesType {
		r.want(BytesType)
		return nil
	}
	if r.pos < len(r.buf) && r.buf[r.pos] < 0x80 && int(r.buf[r.pos]) < len(r.buf)-r.pos { // shorter than 128 bytes
		start := r.pos + 1
		r.pos = start + int(r.buf[r.pos])
		return r.buf[start:r.pos:r.pos]
	}
	size, n := r.varint(r.pos)
	if n < 0 || size > uint64(len(r.buf)-r.pos-n) {
		r.fail("the length is cut off or passes the end")
		return nil
	}
	start := r.pos + n
	r.pos = start + int(size)
	return r.buf[start:r.pos:r.pos]
}

// String reads a string field.
func (r *Reader) String() string { return r.strings.Copy(r.Message()) }

// Bytes reads a bytes field into a new slice, never nil.
func (r *Reader) Bytes() []byte { return append([]byte{}, r.Message()...) }

// Array reads a bytes field into dst and faults if the lengths differ.
func (r *Reader) Array(dst []byte) {
	b := r.Message()
	if r.err == nil && len(b) != len(dst) {
		r.fail(fmt.Sprintf("%d bytes where %d belong", len(b), len(dst)))
		return
	}
	copy(dst, b)
}

// Repeated loops over the elements of a repeated scalar field, packed or not:
// it reports whether one more element, of wire type elem, is to be read.
func (r *Reader) Repeated(elem Type) bool {
	switch {
	case r.err != nil:
		return false
	case r.packedEnd > 0:
		if r.pos > r.packedEnd {
			return r.fail("an element passes the end of its packed list")
		}
		return r.pos < r.packedEnd
	case r.once:
		return false
	case r.typ == elem:
		r.once = true
		return true
	}
	list := r.Message()
	if r.err != nil {
		return false
	}
	r.typ, r.packedEnd = elem, r.pos
	r.pos -= len(list)
	return len(list) > 0
}

// Timestamp reads a nested google.protobuf.Timestamp, in UTC.
func (r *Reader) Timestamp() time.Time {
	seconds, nanos := r.secondsNanos()
	if nanos < 0 || nanos >= nanosPerSecond {
		r.fail("the nanoseconds of a timestamp are not between 0 and 999,999,999")
		return time.Time{}
	}
	if r.err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, nanos).UTC()
}

// Duration reads a nested google.protobuf.Duration and faults if it passes
// time.Duration's range.
func (r *Reader) Duration() time.Duration {
	seconds, nanos := r.secondsNanos()
	const limit = math.MaxInt64 / nanosPerSecond
	switch {
	case nanos <= -nanosPerSecond || nanos >= nanosPerSecond || seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0:
		r.fail("the nanoseconds of a duration are out of range or differ in sign from its seconds")
		return 0
	case seconds > limit || seconds < -limit:
		r.fail("the duration is longer than 292 years")
		return 0
	}
	total := seconds*nanosPerSecond + nanos
	if seconds > 0 && total < 0 || seconds < 0 && total > 0 {
		r.fail("the duration is longer than 292 years")
		return 0
	}
	return time.Duration(total)
}

func (r *Reader) secondsNanos() (seconds, nanos int64) {
	m := NewReader(r.Message())
	for m.Next() {
		switch m.Field() {
		case 1:
			seconds = int64(m.Varint())
		case 2:
			nanos = int64(m.Varint())
		default:
			m.Skip()
		}
	}
	r.Check(m.Err())
	return seconds, nanos
}

// Skip passes over the current field.
func (r *Reader) Skip() {
	if r.err != nil {
		return
	}
	n := protowire.ConsumeFieldValue(protowire.Number(r.field), r.typ, r.buf[r.pos:])
	if n < 0 {
		r.fail("the value is malformed")
		return
	}
	r.pos += n
}

// Strings makes strings that share memory, so that the strings of a page of records, or
// of one record, need few allocations. A string that is kept keeps at most
// mostShared bytes of others. The zero Strings is ready to use; a nil one gives each
// string memory of its own. A Strings is for one goroutine.
type Strings struct {
	room     []byte // what is left of the present memory
	expected int    // bytes that are still to come, perhaps
	repeated string // the last result of CopyRepeated
}

const (
	mostShared    = 1 << 10 // bytes of memory that strings share
	longestShared = 1 << 8  // a longer string has memory of its own
)

// Expect tells how many bytes the next strings have together at most, perhaps. They share
// no memory with those before.
func (s *Strings) Expect(bytes int) { s.room, s.expected = nil, bytes }

// Copy returns a string of the bytes.
func (s *Strings) Copy(b []byte) string {
	n := len(b)
	if s == nil || n == 0 || n > longestShared {
		return string(b)
	}
	if n > len(s.room) {
		s.grow(n)
	}
	shared := s.room[:n:n]
	s.room = s.room[n:]
	copy(shared, b) // for the last time: a string does not change
	return unsafe.String(&shared[0], n)
}

// CopyRepeated is Copy for bytes that are often the same as those of the call before, as
// the values that a query fixes are.
func (s *Strings) CopyRepeated(b []byte) string {
	if string(b) != s.repeated {
		s.repeated = s.Copy(b)
	}
	return s.repeated
}

// grow makes room for a string of so many bytes, and for those that are expected.
func (s *Strings) grow(n int) {
	s.room = make([]byte, max(n, min(s.expected, mostShared)))
	s.expected -= len(s.room)
}

// NewReader returns a reader of the message b, which makes its strings of s. The reader
// aliases b.
func (s *Strings) NewReader(b []byte) Reader { return Reader{buf: b, strings: s} }

// TooDeep returns the error about a message that has others nested in it to more than a depth.
func TooDeep(depth int) error {
	return &Error{Reason: fmt.Sprintf("messages are nested more than %d deep", depth)}
}
