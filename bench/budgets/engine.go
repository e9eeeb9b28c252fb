// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

var ctx = context.Background()

// engineOptions are the options of the embedded engine in all contests.
var engineOptions = embedded.Options{CacheSize: cacheSize}

// fillEngine writes so many records.
func fillEngine(db kv.Database, n int) error {
	return steps(n, fillBatch, func(begin, end int) error {
		return db.Transact(ctx, func(tx kv.Transaction) error {
			for i := begin; i < end; i++ {
				r := shuffled(i, n)
				tx.Set(appendKey(nil, r), value(r))
			}
			return nil
		})
	})
}

// settledEngine returns an engine that was opened again after all records were in the base.
func settledEngine(dir string) (*embedded.Database, error) {
	db, err := embedded.Open(dir, engineOptions)
	if err != nil {
		return nil, err
	}
	if err := fillEngine(db, totalKeys); err != nil {
		return nil, err
	}
	return settle(db, dir, engineOptions)
}

// settle brings all writes to the disk of the base and opens the engine again, with options.
// The base goes to the disk when the log is long, so settle makes it long, with few keys, and
// waits until the earlier log files are gone.
func settle(db *embedded.Database, dir string, o embedded.Options) (*embedded.Database, error) {
	old, err := logs(dir)
	if err != nil {
		return nil, err
	}
	for range 20 {
		if err := lengthen(db); err != nil {
			return nil, err
		}
	}
	if err := awaitGone(old); err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return embedded.Open(dir, o)
}

func logs(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "*.log")) }

// lengthen makes the log 8 MB longer. Its keys come after those of the records.
func lengthen(db *embedded.Database) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		for i := range 80 {
			tx.Set(fmt.Appendf(nil, "z%02d", i), make([]byte, kv.MaxValueSize))
		}
		return nil
	})
}

// awaitGone waits until none of the files exists.
func awaitGone(files []string) error {
	const patience = 5 * time.Minute
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(100 * time.Millisecond) {
		files = slices.DeleteFunc(files, func(name string) bool {
			_, err := os.Stat(name)
			return errors.Is(err, fs.ErrNotExist)
		})
		if len(files) == 0 {
			return nil
		}
	}
	return fmt.Errorf("the engine still needs its log after %v: %v", patience, files)
}

// engineGet reads record i in a transaction of its own.
func engineGet(db *embedded.Database, buf *[]byte, i int) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		v, err := tx.Get(key(buf, i)).Get(ctx)
		if err != nil {
			return err
		}
		return checkValue(v, i)
	})
}

// engineScan reads the records from i on in a transaction of its own.
func engineScan(db *embedded.Database, i int) error {
	begin, end := appendKey(nil, i), appendKey(nil, i+scanned)
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		at := i
		for pair, err := range tx.GetRange(kv.SelectorRange{
			Begin: kv.FirstGreaterOrEqual(begin), End: kv.FirstGreaterOrEqual(end),
		}, kv.RangeOptions{Mode: kv.ModeWantAll}).All(ctx) {
			if err != nil {
				return err
			}
			if err := checkValue(pair.Value, at); err != nil {
				return err
			}
			at++
		}
		return checkScanned(at - i)
	})
}

func checkScanned(n int) error {
	if n != scanned {
		return fmt.Errorf("a scan of %d keys found %d", scanned, n)
	}
	return nil
}
