// SPDX-License-Identifier: Apache-2.0

// Package shop has a type with a generated store.
package shop

import "github.com/kazahana-db/kazahana/idgen"

type Order struct {
	ID     idgen.ID
	Status int
	Number string
	Amount int
	Note   string
	Placed int
	Weight int
}
