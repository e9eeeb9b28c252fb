// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"encoding/base64"
	"errors"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// loadedAtOnce is how many users a library gets in a call: the program's own memory counts, too.
const loadedAtOnce = 10_000

// anyStore is an open store of any kind: of keys with values of 200 bytes, or of users with names of
// 200 bytes.
type anyStore struct {
	load   func(n int) error // synced batches of 1,000; users: as the library loads
	get    func(w *measure.Worker, i int) error
	update func(i, n int) error // n tells the updates of a record apart
	close  func() error
}

type footprintEntrant struct {
	name string
	open func(dir string) (*anyStore, error)
}

// footprintEntrants are the stores, each library but badgerhold in every form, and nothing, which shows what the
// program itself needs.
func footprintEntrants() []footprintEntrant {
	all := []footprintEntrant{
		{"engine, " + plainForm, func(dir string) (*anyStore, error) { return openAnyEngine(dir, embedded.Options{}) }},
		{"Pebble, " + plainForm, func(dir string) (*anyStore, error) {
			return openAnyPebble(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: silent{}})
		}},
		{"Pebble, tuned", openTunedPebble},
	}
	for _, l := range libraries() {
		if l.footprint {
			all = append(all, footprintEntrant{l.name, openAnyLibrary(l.open)})
		}
	}
	return append(all, footprintEntrant{"nothing", func(string) (*anyStore, error) {
		return &anyStore{
			load: func(int) error { return nil }, get: func(*measure.Worker, int) error { return nil },
			update: func(int, int) error { return nil }, close: func() error { return nil },
		}, nil
	}})
}

func openTunedPebble(dir string) (*anyStore, error) {
	o := pebbleOptions()
	defer o.Cache.Unref()
	return openAnyPebble(dir, o)
}

func openAnyEngine(dir string, o embedded.Options) (*anyStore, error) {
	db, err := embedded.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &anyStore{
		load: func(n int) error { return fillEngine(db, n) },
		get:  func(w *measure.Worker, i int) error { return engineGet(db, &w.Buf, i) },
		update: func(i, n int) error {
			return db.Transact(ctx, func(tx kv.Transaction) error {
				tx.Set(appendKey(nil, i), value(n))
				return nil
			})
		},
		close: db.Close,
	}, nil
}

func openAnyPebble(dir string, o *pebble.Options) (*anyStore, error) {
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &anyStore{
		load:   func(n int) error { return fillPebble(db, n) },
		get:    func(w *measure.Worker, i int) error { return pebbleGet(db, &w.Buf, i) },
		update: func(i, n int) error { return db.Set(appendKey(nil, i), value(n), pebble.Sync) },
		close:  db.Close,
	}, nil
}

func openAnyLibrary(open func(dir string) (records.Library, error)) func(dir string) (*anyStore, error) {
	return func(dir string) (*anyStore, error) {
		store, err := open(filepath.Join(dir, "store"))
		if err != nil {
			return nil, err
		}
		var ids []uint64
		return &anyStore{
			load: func(n int) error {
				return steps(n, loadedAtOnce, func(begin, end int) error {
					var some []records.User
					for i := begin; i < end; i++ {
						some = append(some, wideUser(i))
					}
					more, err := store.Load(ctx, some)
					ids = append(ids, more...)
					return err
				})
			},
			get: func(_ *measure.Worker, i int) error {
				want := wideUser(i)
				got, err := store.ByEmail(ctx, want.Email)
				return errors.Join(err, records.Check(got, want))
			},
			update: func(i, n int) error { return store.Update(ctx, ids[i], text(n)) },
			close:  store.Close,
		}, nil
	}
}

// wideUser is user number i with a name of 200 bytes.
func wideUser(i int) records.User {
	u := records.Numbered(i)
	u.Name = text(i)
	return u
}

// text returns 200 characters that hardly compress.
func text(i int) string { return base64.StdEncoding.EncodeToString(value(i)[:valueSize*3/4]) }
