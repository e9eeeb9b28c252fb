// SPDX-License-Identifier: Apache-2.0

// Package user is the record that the codec and store benchmarks share, once
// with generated code and once written by hand.
package user

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// User has one unique and one compound index.
type User struct {
	_ persistable.Directory `persist:"users"`
	_ persistable.Index     `persist:"Category,CreatedAt"`

	ID        idgen.ID
	Email     string `persist:"unique"`
	Name      string
	Category  string
	CreatedAt time.Time
}
