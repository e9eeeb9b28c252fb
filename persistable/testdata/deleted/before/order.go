// SPDX-License-Identifier: Apache-2.0

// Package before is a program from before the option deleted was there.
package before

import "github.com/kazahana-db/kazahana/persistable"

// Order is the type as that program has it.
type Order struct {
	_ persistable.Type  `persist:"Order"`
	_ persistable.Index `persist:"City,Amount desc,cover=Status"`
	_ persistable.Count
	_ persistable.Sum `persist:"Amount,by=City"`

	ID     int64
	Number string `persist:"number=3"`
	City   string `persist:"number=5"`
	Status int64  `persist:"number=6"`
	Amount int64  `persist:"number=7"`
}
