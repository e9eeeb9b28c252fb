// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/placement"
)

// Self is what a member tells of itself.
type Self struct {
	// Name is the member's own: no other member that is alive may have it. 1 to
	// placement.MaxName bytes of UTF-8 without NUL. A process that restarts best keeps its name.
	Name string
	// Address is where the member's transport listens, for others; at most placement.MaxName bytes.
	Address string
	// Kinds are the kinds that it activates. None: it calls, and activates nothing.
	Kinds []string
	// Labels are for strategies: a role, a zone. At most placement.MaxLabel bytes each.
	Labels map[string]string
}

// maxRow is the limit of all that a member tells, encoded, in bytes.
const maxRow = 90_000

// Validate reports all faults, joined.
func (s Self) Validate() error {
	faults := []error{s.asMember().Validate()}
	if size := len(s.newRow().encode()); size > maxRow {
		faults = append(faults, fmt.Errorf("the kinds and labels have %d bytes; at most %d are possible", size, maxRow))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("membership: the member %.80q is invalid: %w", s.Name, err)
	}
	return nil
}

// asMember returns the member as others will see it, in its first incarnation.
func (s Self) asMember() placement.Member {
	return placement.Member{Owner: placement.Owner{Name: s.Name, Incarnation: 1}, Address: s.Address, Kinds: s.Kinds, Labels: s.Labels}
}

// newRow returns what is stored of a member that has just joined. Slices and maps are
// its own.
func (s Self) newRow() row {
	return row{
		Owner: placement.Owner{Name: s.Name}, Address: s.Address,
		Kinds: slices.Clone(s.Kinds), Labels: maps.Clone(s.Labels),
	}
}
