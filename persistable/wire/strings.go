// SPDX-License-Identifier: Apache-2.0

package wire

import "unsafe"

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
