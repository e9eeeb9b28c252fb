// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
)

// Place is where the keys of an open store are, and its indexes.
type Place struct {
	List    List
	Records []byte        // what the keys of records begin with
	Indexes []index.Index // those that this program maintains
	Foreign []Member      // indexes that this program cannot maintain
}

// isBuilding reports whether a member is in the state building.
func (p Place) isBuilding(m Member) bool {
	return slices.Contains(p.Foreign, m) || slices.ContainsFunc(p.Indexes, func(ix index.Index) bool {
		return ix.State == index.Building && MemberOf(ix.Definition) == m
	})
}

// checkMembers returns an error if this program cannot build one of the members: it
// would note records as done that are not.
func (p Place) checkMembers(members []Member) error {
	for _, m := range members {
		if slices.Contains(p.Foreign, m) {
			return fmt.Errorf("build: an index is being built that this program does not have, %s (%s): let a program that has it complete the build, or remove the index by Indexes().RemoveUnused", m.KeyName, m.Layout)
		}
	}
	return nil
}
