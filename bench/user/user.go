// SPDX-License-Identifier: Apache-2.0

// Package user has the records that the benchmarks share: [User], for the codec and
// the store, once with generated code and once written by hand, and [Player], for the
// kinds of index that User does not have.
package user

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// User has one unique, one compound and one count index.
type User struct {
	_ persistable.Directory `persist:"users"`
	_ persistable.Index     `persist:"Category,CreatedAt"`
	_ persistable.Count     `persist:"by=Category"`

	ID        idgen.ID
	Email     string `persist:"unique"`
	Name      string
	Category  string
	CreatedAt time.Time
}
