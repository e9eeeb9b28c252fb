// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"regexp"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Tenant is a customer of the service. The directory of its records has its ID as name.
type Tenant struct {
	_ persistable.Type      `persist:"Tenant"`
	_ persistable.Directory `persist:"registry"`

	ID        idgen.ID
	Name      string `persist:"unique"`
	KeyHash   []byte `persist:"unique"` // SHA-256 of the API key: the key itself is not stored
	CreatedAt time.Time
}

var tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// Validate checks the name: with letters of all scripts two names could look the same.
func (t *Tenant) Validate() error {
	if !tenantName.MatchString(t.Name) {
		return fmt.Errorf("name: %q, want 1 to 40 of a-z, 0-9 and -, beginning with a letter or digit", t.Name)
	}
	return nil
}
