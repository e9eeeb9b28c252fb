// SPDX-License-Identifier: Apache-2.0

//go:build !foundationdb

package enginetest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// Cluster tells whether Open gives databases on a cluster: there the system keys
// are shared with others.
const Cluster = false

// LongestKey is how many bytes a key of such a database may have.
const LongestKey = kv.MaxKeySize

// Leaks are the goroutines that stay when everything is closed: none.
func Leaks() []goleak.Option { return nil }

// Open returns an empty database that lives until the test ends.
func Open(tb testing.TB) kv.Database {
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
