// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

func begin(t *testing.T, db *Database) kv.Transaction {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Cancel)
	return tx
}
