// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"errors"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/tuple"
)

var (
	errMembers = errors.New("the value does not name the indexes of a work list")
	errRange   = errors.New("the value is not that of a range of a work list")
)

// DecodeMembers reads the head of a list: the indexes that it builds.
func DecodeMembers(value []byte) (all []Member, err error) {
	_, err = newer.ReadFormat(value, listFormat)
	if errors.Is(err, newer.Err) {
		return nil, err
	}
	t, err := tuple.Unpack(value)
	if err != nil || len(t) < 2 || t[0] != int64(listFormat) {
		return nil, errMembers
	}
	for _, element := range t[1:] {
		pair, ok := element.(tuple.Tuple)
		if !ok || len(pair) != 2 {
			return nil, errMembers
		}
		name, ok1 := pair[0].(string)
		layout, ok2 := pair[1].(string)
		if !ok1 || !ok2 {
			return nil, errMembers
		}
		all = append(all, Member{name, layout})
	}
	return all, nil
}

// DecodeRange reads the value of the range that begins at begin.
func DecodeRange(begin, value []byte) (*Range, error) {
	r := &Range{Begin: bytes.Clone(begin)}
	if !r.decode(value) {
		return nil, errRange
	}
	return r, nil
}
