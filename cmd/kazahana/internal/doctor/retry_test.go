// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/kv"
)

// repetition is a database that runs each function that reads twice, as a retry does.
type repetition struct{ kv.Database }

// ReadTransact implements [kv.ReadTransactor].
func (d repetition) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return d.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		if err := fn(tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// TestRetries finds nothing in a healthy database although its transactions are retried, and counts
// the same.
func TestRetries(t *testing.T) {
	db := seeded(t)
	_, want := examine(t, db, doctor.Options{Exclusive: true})
	for _, exclusive := range []bool{false, true} {
		found, r := examine(t, repetition{db}, doctor.Options{Exclusive: exclusive})
		if len(found) > 0 || exclusive && r != want {
			t.Errorf("exclusive %v: %+v, want %+v: %v", exclusive, r, want, found)
		}
	}
}
