// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
)

// hasVersions reports whether the program's type has versions.
func (r *record) hasVersions() bool {
	return slices.ContainsFunc(r.Indexes, func(d index.Definition) bool { return d.Kind == index.Version })
}

// noVersions is the error of an operation that needs the versions of records.
func (r *record) noVersions() error {
	e := &NoVersionsError{Type: r.Type}
	for i := range r.Indexes {
		if r.Indexes[i].Kind == index.Version {
			e.Index = r.Indexes[i].Name
		}
	}
	return e
}

// setVersion sets the version of a record to the stored one, nil for none.
func (r *record) setVersion(record any, stored []byte) error {
	field := r.Version(record)
	if *field = (Version{}); stored == nil {
		return nil
	}
	if len(stored) != len(field) {
		return fmt.Errorf("persistable: a version of %s has %d bytes instead of %d: run Indexes().Rebuild of its version index", r.Type, len(stored), len(field))
	}
	copy(field[:], stored)
	return nil
}
