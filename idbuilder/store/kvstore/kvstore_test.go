// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/tuple"
)

// media are databases by the names of media.
type media struct {
	mu    sync.Mutex
	named map[string]kv.Database
	wrap  func(testing.TB, kv.Database) kv.Database
}

func (m *media) open(t *testing.T, name string) kv.Database {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	db, known := m.named[name]
	if !known {
		db = enginetest.Open(t)
		if m.named == nil {
			m.named = map[string]kv.Database{}
		}
		m.named[name] = db
	}
	if m.wrap != nil {
		return m.wrap(t, db)
	}
	return db
}

func (m *media) suite() storetest.Suite {
	return storetest.Suite{
		Open:         func(t *testing.T, name string) store.Store { return open(t, m.open(t, name)) },
		LosesAnswers: m.wrap != nil,
		SetSchema: func(t *testing.T, name string, version int) {
			db := m.open(t, name)
			set(t, db, tuple.AppendString(prefixOf(t, db), "V"), tuple.AppendInt(nil, int64(version)))
		},
	}
}

// open returns a store of its own on a database.
func open(t *testing.T, db kv.Database) *kvstore.Store {
	t.Helper()
	s, err := kvstore.New(db, kvstore.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func prefixOf(t *testing.T, db kv.Database) []byte {
	t.Helper()
	dir, err := directory.Root().Open(t.Context(), db, []string{"kazahana", "idbuilder"})
	check(t, err)
	prefix, err := dir.Prefix()
	check(t, err)
	return prefix
}

func TestStore(t *testing.T) { storetest.Run(t, new(media).suite()) }

// TestHostile runs the contract on an engine that does all that package kv allows: each
// transaction fails at least once, some after their commit.
func TestHostile(t *testing.T) {
	storetest.Run(t, (&media{wrap: faults.HostileT}).suite())
}

func directoryRemove(t *testing.T, db kv.Database) error {
	t.Helper()
	return directory.Root().Remove(t.Context(), db, []string{"kazahana", "idbuilder"})
}
