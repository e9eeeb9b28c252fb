// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// locateKey returns the key that a selector selects among what is stored.
func (s *overlay) locateKey(sel kv.KeySelector) []byte {
	at := s.locateSelector(sel)
	if sel.Offset > 0 && at.beyond == 0 {
		first, ok := s.seek(at.key)
		if at.key = first.Key; !ok || bytes.Compare(first.Key, s.limit) >= 0 {
			at = selectorPlace{key: s.limit, beyond: 1}
		}
	}
	s.beyond = at.beyond
	return at.key
}

// selectorPlace is where a selector leads among what the database holds.
type selectorPlace struct {
	key     []byte
	toBegin bool // it ran off the beginning
	beyond  int  // which key behind all that can be read it selects, the first being 1; 0: none
}

// locateSelector walks a selector without OrEqual over stored keys. One with offset 1
// stays where it is.
func (s *overlay) locateSelector(sel kv.KeySelector) selectorPlace {
	at, offset := selectorPlace{key: sel.Key}, sel.Offset
	if offset == 1 {
		return at
	}
	for ; offset > 1; offset-- {
		key, ok := s.seekOrNext(at.key, offset < sel.Offset)
		if !ok || bytes.Compare(key, s.limit) >= 0 {
			return selectorPlace{key: s.limit, beyond: offset}
		}
		at.key = keys.Successor(key)
	}
	for ; offset < 1; offset++ {
		found, ok := s.seekBelow(at.key)
		if !ok || len(found.Key) == 0 {
			return selectorPlace{key: []byte{}, toBegin: true}
		}
		at.key = found.Key
	}
	return at
}

// seekOrNext moves to the first stored key from edge on, or to the next one.
func (s *overlay) seekOrNext(edge []byte, next bool) (key []byte, ok bool) {
	scan := s.storedScan()
	if s.below = (kv.KeyValue{}); next {
		key, _, ok = scan.Next()
	} else {
		key, _, ok = scan.Seek(edge)
	}
	return key, ok
}

// seek moves to the first stored pair from a key on.
func (s *overlay) seek(from []byte) (kv.KeyValue, bool) {
	s.below = kv.KeyValue{}
	key, value, ok := s.storedScan().Seek(from)
	return kv.KeyValue{Key: key, Value: value}, ok
}

// seekBelow moves to the last stored pair below a key, unless it is there already.
func (s *overlay) seekBelow(end []byte) (kv.KeyValue, bool) {
	if s.below.Key != nil && keys.IsSuccessor(end, s.below.Key) {
		return s.below, true
	}
	key, value, ok := s.storedScan().SeekBelow(end)
	if s.below = (kv.KeyValue{}); ok {
		s.below = kv.KeyValue{Key: key, Value: value}
	}
	return s.below, ok
}
