// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

const (
	verifyOperation = "verify"
	countsStep      = "#counts" // in place of an index's name: behind all indexes
)

// token returns where the verifier is: (the name of the index, empty for the records,
// the key behind which it goes on).
func (v *verifier) token() string {
	name := ""
	switch {
	case v.index == len(v.record.Indexes):
		name = countsStep
	case v.index != byID:
		name = v.record.Indexes[v.index].KeyName()
	}
	return maintenanceTokens{v.source, verifyOperation}.seal(tuple.AppendBytes(tuple.AppendString(nil, name), v.cursor.position))
}

// resume goes to where another verifier was.
func (v *verifier) resume(token string) error {
	at, err := maintenanceTokens{v.source, verifyOperation}.open(token)
	if err != nil || at == nil {
		return err
	}
	name, rest, err := tuple.ReadString(at)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	switch name {
	case "":
	case countsStep:
		v.index = len(v.record.Indexes)
	default:
		if v.index, err = v.findIndex(name); err != nil {
			return err
		}
	}
	if v.cursor.position, _, err = tuple.ReadBytes(rest); len(v.cursor.position) == 0 {
		v.cursor.position = nil
	}
	return err
}

// findIndex returns the number of the index with that name in keys, which a token says.
func (v *verifier) findIndex(name string) (int, error) {
	i := slices.IndexFunc(v.record.Indexes, func(d index.Definition) bool { return d.KeyName() == name })
	if i < 0 {
		return 0, fmt.Errorf("%w: it stopped at the index %s, which %s does not have any more: verify from the beginning", ErrBadToken, name, v.record.Type)
	}
	return i, nil
}
