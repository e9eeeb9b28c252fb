// SPDX-License-Identifier: Apache-2.0

// Package example is the source of the example of package codegen.
package example

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Order is an order of a tenant.
type Order struct {
	_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
	_ persistable.Index     `persist:"Status,CreatedAt"`

	ID        idgen.ID
	TenantID  string
	Number    string `persist:"unique"`
	Status    int
	CreatedAt time.Time
}
