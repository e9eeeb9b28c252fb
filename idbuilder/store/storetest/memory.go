// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// Memory returns an initialised store in memory, which lives until the test ends.
func Memory(tb testing.TB) store.Store {
	tb.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := kvstore.New(db, kvstore.Options{})
	if err == nil {
		err = s.Init(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
