// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

var ctx = context.Background()

// engineOptions are the options of the embedded engine in all contests, but for its lines "as it
// comes", which have none.
var engineOptions = embedded.Options{Memory: 4 * cacheSize} // a quarter of it is cache

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
func settledEngine(dir string, o embedded.Options) (*embedded.Database, error) {
	db, err := embedded.Open(dir, o)
	if err != nil {
		return nil, err
	}
	if err := fillEngine(db, totalKeys); err != nil {
		return nil, err
	}
	return settle(db, dir, o)
}

// settle closes the engine, which moves its log to the base, and opens it again, with options.
func settle(db *embedded.Database, dir string, o embedded.Options) (*embedded.Database, error) {
	if err := db.Close(); err != nil {
		return nil, err
	}
	return embedded.Open(dir, o)
}

// rest gives the stores time for the compactions that opening them has begun.
func rest() { time.Sleep(3 * time.Second) }

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
