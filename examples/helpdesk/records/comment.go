// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Comment belongs to a ticket. The IDs of a ticket's comments are in the order of time.
type Comment struct {
	_ persistable.Type      `persist:"Comment"`
	_ persistable.Directory `persist:"tenants/{Tenant}/comments,layer=partition"`

	ID        idgen.ID
	Tenant    string
	Ticket    idgen.ID `persist:"index"`
	Author    string
	Text      string
	CreatedAt time.Time
}

// Validate reports all that is wrong with the comment.
func (c *Comment) Validate() error {
	var faults []error
	if n := len(c.Author); n < 1 || n > 254 {
		faults = append(faults, fmt.Errorf("author: %d bytes, want 1 to 254", n))
	}
	if n := len(c.Text); n < 1 || n > 20_000 {
		faults = append(faults, fmt.Errorf("text: %d bytes, want 1 to 20000", n))
	}
	return errors.Join(faults...)
}
