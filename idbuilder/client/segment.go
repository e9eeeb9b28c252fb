// SPDX-License-Identifier: Apache-2.0

package client

import "sync/atomic"

// segment has IDs that callers take by an atomic counter, without a lock.
type segment[T any] struct {
	ids  []T
	half int64 // when so many were given, the chain fetches more
	_    [64]byte
	next atomic.Int64 // how many were requested; it may go beyond the IDs
	_    [64]byte     // next has a cache line of its own
}

func newSegment[T any](ids []T) *segment[T] {
	return &segment[T]{ids: ids, half: int64(max(len(ids)/2, 1))}
}

// takeN copies IDs to dst, and returns how many; it reports whether half of
// the segment was passed.
func (s *segment[T]) takeN(dst []T) (n int, half bool) {
	end := s.next.Add(int64(len(dst)))
	begin := end - int64(len(dst))
	if begin >= int64(len(s.ids)) {
		return 0, false
	}
	return copy(dst, s.ids[begin:]), begin < s.half && s.half <= end
}
