// SPDX-License-Identifier: Apache-2.0

//go:build !foundationdb

package enginetest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/kv"
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
	return InProcess(tb)
}
