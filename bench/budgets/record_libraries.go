// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/entpeer"
	"github.com/kazahana-db/kazahana/bench/records/gormpeer"
	"github.com/kazahana-db/kazahana/bench/records/holdpeer"
	"github.com/kazahana-db/kazahana/bench/records/pebblepeer"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// library is one of the libraries, in one of its forms.
type library struct {
	name      string
	raw, slow bool // as those of [peer]
	open      func(dir string) (records.Library, error)
	settle    func(dir string) error // moves what was loaded to where old data is; may be nil
	footprint bool                   // it is among those of [Footprints]
}

// plainForm is what the names of libraries with their defaults end in.
const plainForm = "as it comes"

// libraries are all of them: the generated store, Pebble, and the others, first
// tuned and then with their defaults.
func libraries() []library {
	all := []library{
		{name: "Kazahana", open: func(dir string) (records.Library, error) { return openKazahana(dir, engineOptions) }, settle: settleKazahana},
		{name: "Pebble, by hand", raw: true, open: openRaw},
	}
	for _, plain := range []bool{false, true} {
		form := "tuned"
		if plain {
			form = plainForm
		}
		add := func(name string, open func(file string, plain bool) (records.Library, error)) *library {
			all = append(all, library{name: name + ", " + form, open: func(dir string) (records.Library, error) { return open(dir, plain) }})
			return &all[len(all)-1]
		}
		add("gorm, SQLite", gormpeer.Open).footprint = plain
		add("ent, SQLite", entpeer.Open).footprint = plain
		add("badgerhold", holdpeer.Open).slow = plain
	}
	return all
}

func openKazahana(dir string, o embedded.Options) (records.Library, error) {
	engine, err := embedded.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return records.Open(ctx, engine)
}

func settleKazahana(dir string) error {
	engine, err := embedded.Open(dir, engineOptions)
	if err != nil {
		return err
	}
	if engine, err = settle(engine, dir, engineOptions); err != nil {
		return err
	}
	return engine.Close()
}

func openRaw(dir string) (records.Library, error) {
	o := pebbleOptions()
	defer o.Cache.Unref()
	return pebblepeer.Open(dir, o)
}

// openLoaded opens the library in a folder of its own and loads users and players.
func (l *library) openLoaded(dir string) (*peer, error) {
	dir = filepath.Join(dir, l.name)
	store, err := l.open(dir)
	if err != nil {
		return nil, err
	}
	p := &peer{name: l.name, store: store, records: store, raw: l.raw, slow: l.slow}
	if _, err := p.loadUsers(); err != nil {
		return nil, err
	}
	if err := store.LoadPlayers(ctx, players()); err != nil {
		return nil, fmt.Errorf("%s: loading: %w", l.name, errors.Join(err, store.Close()))
	}
	if l.settle == nil {
		return p, nil
	}
	if err := errors.Join(store.Close(), l.settle(dir)); err != nil {
		return nil, err
	}
	if p.records, err = l.open(dir); err != nil {
		return nil, err
	}
	p.store = p.records
	return p, nil
}
