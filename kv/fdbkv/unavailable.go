// SPDX-License-Identifier: Apache-2.0

//go:build !(foundationdb && cgo)

package fdbkv

import (
	"github.com/kazahana-db/kazahana/internal/optional"
	"github.com/kazahana-db/kazahana/kv"
)

// Database is a client of a cluster: a [kv.Database]. This program was built
// without FoundationDB, so there is none.
type Database struct{ kv.Database }

// Open returns the options' faults, or [ErrNotBuilt].
func Open(_ string, options ...Options) (*Database, error) {
	if _, err := optional.Options("fdbkv", options); err != nil {
		return nil, err
	}
	return nil, ErrNotBuilt
}
