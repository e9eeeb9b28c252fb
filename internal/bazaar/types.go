// SPDX-License-Identifier: Apache-2.0

package bazaar

import (
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/persistable"
)

// Account is an account of a tenant, as the newer of two programs has it: older.Account is
// the other one.
type Account struct {
	_ persistable.Type      `persist:"Account,scatter=4"`
	_ persistable.Directory `persist:"tenants/{TenantID}/accounts,layer=partition"`
	_ persistable.Unique    `persist:"Email"`
	_ persistable.Index     `persist:"Plan,Level"`

	ID       string
	TenantID string
	Email    string
	Level    int64   `persist:"was=int32"`
	Name     *string `persist:"was=string"`
	Plan     string  `persist:"default='free'"`
}

// Event is something that happened to a tenant.
type Event struct {
	_ persistable.Directory `persist:"events"`
	_ persistable.Index     `persist:"Tenant,At"`
	_ persistable.Version

	ID     ulid.ULID
	Tenant string
	At     time.Time
	Text   string
}

// Counter counts something.
type Counter struct {
	_ persistable.Directory `persist:"counters"`

	ID    int64
	Name  string `persist:"unique"`
	Value uint64
}

// Setting is a setting of the whole program.
type Setting struct {
	_ persistable.Directory `persist:"settings"`

	ID    string
	Value string `persist:"index"`
}
