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
	"github.com/kazahana-db/kazahana/bench/records/sqlite"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// library is one of the libraries, in one of its forms.
type library struct {
	name, form string // form as that of [peer]
	raw, slow  bool   // as those of [peer]
	footprint  bool   // it is among those of [Footprints]
	open       func(dir string) (records.Library, error)
	settle     func(dir string) error // what it needs beyond being closed and opened again; may be nil
}

// plainForm is what the names of libraries with their defaults end in.
const plainForm = "as it comes"

// libraries are all of them: the generated store, Pebble, and the others, first
// tuned and then with their defaults.
func libraries() []library {
	openPlain := func(dir string) (records.Library, error) { return openKazahana(dir, embedded.Options{}) }
	all := []library{
		{name: "Kazahana", open: func(dir string) (records.Library, error) { return openKazahana(dir, engineOptions) }},
		{name: "Kazahana, " + plainForm, form: plainForm, footprint: true, open: openPlain},
		{name: "Pebble, by hand", raw: true, footprint: true, open: openRaw, settle: mergeCounts},
	}
	for _, form := range []sqlite.Form{sqlite.Tuned, sqlite.Plain, sqlite.Native} {
		add := func(name string, footprint bool, open func(dir string) (records.Library, error)) {
			all = append(all, library{name: name + form.String(), footprint: footprint, open: open})
		}
		if form == sqlite.Native && !sqlite.HasNative {
			break
		}
		add("gorm, SQLite", true, func(dir string) (records.Library, error) { return gormpeer.Open(dir, form) })
		add("ent, SQLite", true, func(dir string) (records.Library, error) { return entpeer.Open(dir, form) })
		if form != sqlite.Native {
			add("badgerhold", false, func(dir string) (records.Library, error) { return holdpeer.Open(dir, form == sqlite.Plain) })
			all[len(all)-1].slow = form == sqlite.Plain
		}
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

func openRaw(dir string) (records.Library, error) {
	o := pebbleOptions()
	defer o.Cache.Unref()
	return pebblepeer.Open(dir, o)
}

func mergeCounts(dir string) error {
	o := pebbleOptions()
	defer o.Cache.Unref()
	return pebblepeer.MergeCounts(dir, o)
}

// openLoaded opens the library in a folder of its own and loads users and players.
func (l *library) openLoaded(dir string) (*peer, error) {
	dir = filepath.Join(dir, l.name)
	store, err := l.open(dir)
	if err != nil {
		return nil, err
	}
	p := &peer{name: l.name, form: l.form, store: store, records: store, raw: l.raw, slow: l.slow}
	if _, err := p.loadUsers(); err != nil {
		return nil, err
	}
	if err := store.LoadPlayers(ctx, players()); err != nil {
		return nil, fmt.Errorf("%s: loading: %w", l.name, errors.Join(err, store.Close()))
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	if l.settle != nil {
		if err := l.settle(dir); err != nil {
			return nil, err
		}
	}
	if p.records, err = l.open(dir); err != nil {
		return nil, err
	}
	p.store = p.records
	return p, nil
}
