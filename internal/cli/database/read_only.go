// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// readOnly is a database that refuses transactions which could write.
type readOnly struct{ kv.Database }

var errReadOnly = kv.NewError(kv.CodeTransactionReadOnly, "the command opened the database for reading only")

// Begin implements [kv.Database].
func (readOnly) Begin() (kv.Transaction, error) { return nil, errReadOnly }

// Transact implements [kv.Transactor].
func (readOnly) Transact(context.Context, func(kv.Transaction) error) error { return errReadOnly }
