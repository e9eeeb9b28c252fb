// SPDX-License-Identifier: Apache-2.0

// Package older has the types of package bazaar as a program before it had them.
package older

import "github.com/kazahana-db/kazahana/persistable"

// Account is an account of a tenant.
type Account struct {
	_ persistable.Type      `persist:"Account,scatter=4"`
	_ persistable.Directory `persist:"tenants/{TenantID}/accounts,layer=partition"`
	_ persistable.Unique    `persist:"Email"`
	_ persistable.Index     `persist:"Level"`

	ID       string
	TenantID string
	Email    string
	Level    int32
	Name     string
}
