// SPDX-License-Identifier: Apache-2.0

// Package three is the third generation of a type: the struct has another name, a
// field may be null, one is new and unique; an index has another key, and one that
// was removed is back.
package three

import (
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Plan is what an account pays for.
type Plan string

// Customer is the type as the third program has it.
type Customer struct {
	_ persistable.Type      `persist:"Account"`
	_ persistable.Directory `persist:"accounts"`
	_ persistable.Index     `persist:"Plan,Region"`

	ID      idgen.ID
	Address string `persist:"name=Email,unique"`
	Plan    Plan
	Level   int64
	Name    *string  `persist:"was=string"`
	Region  string   `persist:"default='eu'"`
	Tags    []string `persist:"index"`
	Handle  *string  `persist:"unique"`
}
