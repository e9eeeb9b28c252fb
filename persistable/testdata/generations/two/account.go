// SPDX-License-Identifier: Apache-2.0

// Package two is the second generation of a type: a field has another name in Go, one a
// type of its own, one is wider, one is new and has a default, and one is gone; an index
// was added and one removed.
package two

import (
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Plan is what an account pays for.
type Plan string

// Account is the type as the second program had it.
type Account struct {
	_ persistable.Type      `persist:"Account"`
	_ persistable.Directory `persist:"accounts"`
	_ persistable.Index     `persist:"Region,Level"`

	ID      idgen.ID
	Address string `persist:"name=Email,unique"`
	Plan    Plan   `persist:"index"`
	Level   int64  `persist:"was=int32"`
	Name    string
	Region  string `persist:"default='eu'"`
	Tags    []string
}
