// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// snapshot returns the transaction for reads that do not conflict.
func (t *transaction) snapshot() *transaction {
	return &transaction{db: t.db, Transaction: scan.Transaction{Reader: t.writer.Snapshot()}}
}
