// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// InProcess returns an empty database of the embedded engine, whatever Open
// returns, for tests in virtual time, as a cluster has a clock of its own, and for
// examples of formats, which have versions of this engine: a cluster's may be lower.
func InProcess(tb testing.TB) kv.Database {
	tb.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}
