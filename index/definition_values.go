// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"

	"github.com/kazahana-db/kazahana/tuple"
)

// Values returns the values that are packed, as [Definition.Split] cuts them off: those
// of descending fields too are as they were before [Descend].
func (d *Definition) Values(packed []byte) (tuple.Tuple, error) {
	if len(d.Descending) == 0 {
		return tuple.Unpack(packed)
	}
	var ascending []byte
	rest := packed
	for i := range d.Fields {
		var err error
		if ascending, rest, err = d.appendAscending(ascending, rest, i); err != nil {
			return nil, fmt.Errorf("index: a key of %s: %w", d.KeyName(), err)
		}
	}
	return tuple.Unpack(append(ascending, rest...))
}

// appendAscending appends the value of the i-th field, which b begins with, as it was
// before Descend.
func (d *Definition) appendAscending(dst, b []byte, i int) (ascending, rest []byte, err error) {
	if d.IsDescending(i) {
		return ReadDescended(dst, b)
	}
	if rest, err = tuple.Skip(b); err != nil {
		return dst, nil, err
	}
	return append(dst, b[:len(b)-len(rest)]...), rest, nil
}
