// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	txhistory "github.com/kazahana-db/kazahana/kv/kvtest/history"
)

// isolationEngines are the engine in its forms.
var isolationEngines = []struct {
	name string
	open func(testing.TB) kv.Database
}{
	{"memory", func(t testing.TB) kv.Database {
		db, err := OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeTest(t, db) })
		return db
	}},
	{"durable", func(t testing.TB) kv.Database {
		db := openTest(t, Options{FS: vfs.NewMem()})
		t.Cleanup(func() { closeTest(t, db) })
		return db
	}},
	{"disk", func(t testing.TB) kv.Database {
		db, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeTest(t, db) })
		return db
	}},
	{"absorbing", openAbsorbing},
}

// openAbsorbing opens a database whose commits leave the window at once, all
// the time: what is read comes from the base, and transactions are often told
// that they are too old.
func openAbsorbing(t testing.TB) kv.Database {
	db := openTest(t, crashOptions(vfs.NewMem(), true))
	quit, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-quit:
				done <- nil
				return
			default:
			}
			if err := db.disk.absorber.Pass(); err != nil {
				done <- err
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(quit)
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeTest(t, db)
	})
	return db
}

// onIsolationEngines runs a check of random histories on each form of the
// engine, with few and with many goroutines.
func onIsolationEngines(t *testing.T, check func(testing.TB, kv.Database, txhistory.LoadOptions)) {
	for _, e := range isolationEngines {
		for _, goroutines := range []int{2, 8, 32} {
			t.Run(fmt.Sprintf("%s/%d", e.name, goroutines), func(t *testing.T) {
				rounds, total := 3, 640
				if testing.Short() {
					rounds, total = 1, 320
				}
				db := e.open(t)
				for range rounds {
					check(t, db, txhistory.LoadOptions{Seed: seed.Of(t), Goroutines: goroutines, Transactions: total / goroutines})
				}
			})
		}
	}
}

func TestSerializable(t *testing.T) { onIsolationEngines(t, txhistory.CheckSerializable) }

func TestCommitOrder(t *testing.T) { onIsolationEngines(t, txhistory.CheckCommitOrder) }

func checkAnomaly(t *testing.T, a kvtest.Anomaly) {
	for _, e := range isolationEngines {
		if e.name == "absorbing" {
			continue // a transaction that is too old cannot be led step by step
		}
		t.Run(e.name, func(t *testing.T) { kvtest.CheckAnomaly(t, e.open, a) })
	}
}

func TestDirtyWrite(t *testing.T) { checkAnomaly(t, kvtest.DirtyWrite) }

func TestDirtyRead(t *testing.T) { checkAnomaly(t, kvtest.DirtyRead) }

func TestLostUpdate(t *testing.T) { checkAnomaly(t, kvtest.LostUpdate) }

func TestReadSkew(t *testing.T) { checkAnomaly(t, kvtest.ReadSkew) }

func TestWriteSkew(t *testing.T) { checkAnomaly(t, kvtest.WriteSkew) }

func TestPhantom(t *testing.T) { checkAnomaly(t, kvtest.Phantom) }
