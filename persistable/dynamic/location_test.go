// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestStoresInPages: stores behind more directories than a transaction lists are found.
func TestStoresInPages(t *testing.T) {
	db := seeded(t)
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		for i := range 1200 {
			if _, err := db.Layer().Create(ctx, tx, []string{fmt.Sprintf("a%04d", i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	n := 0
	for _, err := range dynamic.Stores(ctx, db) {
		check(t, err)
		n++
	}
	if n != 9 {
		t.Errorf("%d stores, want 9", n)
	}
}
