// SPDX-License-Identifier: Apache-2.0

// Package account is what the tests of package host keep in a database: records of a
// virtual actor, with a store that persistgen has written.
package account

import (
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// Account is the state of a virtual actor.
type Account struct {
	_ persistable.Type      `persist:"Account"`
	_ persistable.Directory `persist:"bank/accounts"`
	_ persistable.Unique    `persist:"Owner"`

	ID      idgen.ID
	Owner   string // the id of the actor
	Balance int64
}
