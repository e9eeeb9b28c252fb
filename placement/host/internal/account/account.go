// SPDX-License-Identifier: Apache-2.0

// Package account has the records that the tests of package host keep in a database
// for a virtual actor, with a store that persistgen has written.
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
