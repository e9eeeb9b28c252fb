// SPDX-License-Identifier: Apache-2.0

package tuple

import "fmt"

// Subspace is the set of the keys that begin with a prefix: a part of the key
// space in which a layer packs its tuples. Subspaces are immutable and
// comparable; the zero Subspace is the whole key space.
type Subspace struct {
	prefix string
}

// NewSubspace returns the subspace of a prefix, which is copied.
func NewSubspace(prefix []byte) Subspace { return Subspace{string(prefix)} }

// Bytes returns a copy of the prefix.
func (s Subspace) Bytes() []byte { return []byte(s.prefix) }

// AppendTo appends the prefix to dst, without allocating if dst has the room.
func (s Subspace) AppendTo(dst []byte) []byte { return append(dst, s.prefix...) }

// Sub returns the subspace inside s whose prefix ends with the packed elements.
// It panics with an [*EncodeError] where [Tuple.Pack] fails: elements are chosen
// by the program, so pack those that come from outside with [Subspace.Pack].
func (s Subspace) Sub(elements ...any) Subspace {
	b, err := s.Pack(elements)
	if err != nil {
		panic(err)
	}
	return NewSubspace(b)
}

// Pack returns the key of t in s. Errors are those of [Tuple.Pack].
func (s Subspace) Pack(t Tuple) ([]byte, error) {
	b, err := t.Append(append(make([]byte, 0, len(s.prefix)+packRoom), s.prefix...))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// PackVersionstamped is [Tuple.PackVersionstamped] behind the prefix of s.
func (s Subspace) PackVersionstamped(t Tuple) ([]byte, error) {
	return t.PackVersionstamped([]byte(s.prefix))
}

// Unpack decodes what follows the prefix in key. The error wraps
// [ErrNotInSubspace] if key is not in s, else it is that of [Unpack], with
// offsets counted from the end of the prefix.
func (s Subspace) Unpack(key []byte) (Tuple, error) {
	rest, err := s.Strip(key)
	if err != nil {
		return nil, err
	}
	return Unpack(rest)
}

// Strip returns what follows the prefix in key, sharing key's memory: what to
// hand to [Next] or [ReadInt]. The error wraps [ErrNotInSubspace].
func (s Subspace) Strip(key []byte) ([]byte, error) {
	if !s.Contains(key) {
		return nil, fmt.Errorf("%w: %x does not begin with %x", ErrNotInSubspace, key, s.prefix)
	}
	return key[len(s.prefix):], nil
}

// Contains reports whether key begins with the prefix of s.
func (s Subspace) Contains(key []byte) bool {
	return len(key) >= len(s.prefix) && string(key[:len(s.prefix)]) == s.prefix
}

// Range returns the range of all keys of s that pack a tuple of at least one
// element, from begin inclusive to end exclusive. The prefix itself is not in it.
func (s Subspace) Range() (begin, end []byte) {
	return withByte(s.prefix, 0), withByte(s.prefix, 0xff)
}

// String returns the prefix as [Describe] does.
func (s Subspace) String() string { return "Subspace" + Describe([]byte(s.prefix)) }
