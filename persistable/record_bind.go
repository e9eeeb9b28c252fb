// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"

	"github.com/kazahana-db/kazahana/persistable/wire"
)

// decodeHere decodes a record. Its {Field}s have the values of the directory, also if
// the stored bytes have others, because the tenant was moved or copied to another
// name: where a record is decides whose it is.
func (r *record) decodeHere(payload []byte, s *wire.Strings) (any, error) {
	v, _, err := r.bind(payload, s)
	return v, err
}

// bind returns a record, and its bytes, with the {Field}s of the directory.
func (r *record) bind(payload []byte, s *wire.Strings) (any, []byte, error) {
	v, err := r.Decode(payload, s)
	if err != nil || r.CheckArgs == nil {
		return v, payload, err
	}
	if _, _, ok := r.CheckArgs(v, r.args); ok {
		return v, payload, nil
	}
	bound, err := r.encodeArgs()
	if err != nil {
		return nil, nil, err
	}
	payload = slices.Concat(payload, bound) // of a field that comes twice, the last one counts
	v, err = r.Decode(payload, s)
	return v, payload, err
}

// encodeArgs returns the {Field}s of the place as a record's bytes.
func (r *record) encodeArgs() ([]byte, error) {
	v, err := r.Decode(nil, nil)
	if err != nil {
		return nil, err
	}
	r.FillArgs(v, r.args)
	all, err := r.Encode(nil, v)
	if err != nil {
		return nil, err
	}
	numbers, err := r.argNumbers()
	if err != nil {
		return nil, err
	}
	return wire.KeepFields(all, numbers)
}

// argNumbers returns the numbers of the {Field}s.
func (r *record) argNumbers() (numbers []int32, err error) {
	lock, err := r.Parsed()
	if err != nil {
		return nil, err
	}
	for _, e := range r.Directory {
		for _, f := range lock.Block(r.Type).Fields {
			if e.Field != "" && f.Name == e.Field {
				numbers = append(numbers, f.Number)
			}
		}
	}
	return numbers, nil
}
