// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/entpeer"
	"github.com/kazahana-db/kazahana/bench/records/gormpeer"
	"github.com/kazahana-db/kazahana/bench/records/holdpeer"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// loadedUsers are in every store before the contests.
const loadedUsers = 100_000

// users returns those that are loaded.
var users = sync.OnceValue(func() []records.User {
	all := make([]records.User, loadedUsers)
	for i := range all {
		all[i] = records.Numbered(i)
	}
	return all
})

// recordStores compare whole records: the generated store on the engine with
// the libraries that a program would use otherwise.
var recordStores = measure.Stage{Name: "record", Open: func(dir string) (*measure.Set, error) {
	var peers []*peer
	set := &measure.Set{Close: func() (err error) {
		for _, p := range peers {
			err = errors.Join(err, p.store.Close())
		}
		return err
	}}
	for _, open := range append([]func(dir string) (*peer, error){openKazahana}, openers()...) {
		p, err := open(dir)
		if err != nil {
			return nil, errors.Join(err, set.Close())
		}
		peers = append(peers, p)
	}
	for _, n := range []int{1, 64} {
		set.Contests = append(set.Contests,
			recordContest("get", "get by id", n, peers, 8, (*peer).get),
			recordContest("unique", "get by a unique field", n, peers, 5, (*peer).unique),
			recordContest("list", "100 records in the order of an index", n, peers, 2, (*peer).list),
		)
	}
	save := recordContest("save", "save with a unique and a compound index", 64, peers, 30, (*peer).saveContest)
	save.Durable = true
	set.Contests = append(set.Contests, save)
	return set, nil
}}

// recordContest is a contest of all peers. The first must meet the budget.
func recordContest(name, about string, n int, peers []*peer, least float64, entrant func(p *peer) measure.Entrant) measure.Contest {
	c := measure.Contest{Name: fmt.Sprintf("record-%s-%d", name, n), About: about + ", " + goroutines(n)}
	for i, p := range peers {
		e := entrant(p)
		e.Name, e.Goroutines = p.name, n
		if i > 0 {
			e.Least = least
		}
		c.Entrants = append(c.Entrants, e)
	}
	return c
}

// peer is one of the stores.
type peer struct {
	name  string
	store records.Store
	ids   []uint64
	saved int          // users that were saved beyond those loaded
	next  atomic.Int64 // number of the next user to save
}

// loadUsers puts the users into the store and checks that they arrived.
func (p *peer) loadUsers() (*peer, error) {
	var err error
	if p.ids, err = p.store.Load(ctx, users()); err != nil {
		return nil, fmt.Errorf("%s: loading: %w", p.name, errors.Join(err, p.store.Close()))
	}
	p.next.Store(loadedUsers)
	if err := p.checkUsers(); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	return p, nil
}

// checkUsers counts the users.
func (p *peer) checkUsers() error {
	n, err := p.store.Count(ctx)
	if err == nil && n != loadedUsers+p.saved {
		err = fmt.Errorf("%s holds %d users, want %d", p.name, n, loadedUsers+p.saved)
	}
	return err
}

func openKazahana(dir string) (*peer, error) {
	dir = filepath.Join(dir, "kazahana")
	engine, err := embedded.OpenWith(dir, engineOptions)
	if err != nil {
		return nil, err
	}
	p := &peer{name: "Kazahana"}
	if p.store, err = records.Open(ctx, engine); err != nil {
		return nil, err
	}
	if _, err := p.loadUsers(); err != nil {
		return nil, err
	}
	if engine, err = settle(engine, dir, engineOptions); err != nil {
		return nil, err
	}
	p.store, err = records.Open(ctx, engine)
	return p, err
}

// openers open the libraries, each with its defaults and tuned.
func openers() (all []func(dir string) (*peer, error)) {
	for _, plain := range []bool{false, true} {
		form := "tuned"
		if plain {
			form = "as it comes"
		}
		for _, library := range []struct {
			name string
			open func(file string, plain bool) (records.Store, error)
		}{{"gorm, SQLite", gormpeer.Open}, {"ent, SQLite", entpeer.Open}, {"badgerhold", holdpeer.Open}} {
			all = append(all, func(dir string) (*peer, error) {
				name := library.name + ", " + form
				store, err := library.open(filepath.Join(dir, name), plain)
				if err != nil {
					return nil, err
				}
				return (&peer{name: name, store: store}).loadUsers()
			})
		}
	}
	return all
}

func (p *peer) get() measure.Entrant {
	return measure.Entrant{Ops: 3_000, Elastic: true, Op: func(w *measure.Worker) error {
		i := w.Rand.IntN(loadedUsers)
		u, err := p.store.Get(ctx, p.ids[i])
		if err != nil {
			return err
		}
		return records.Check(u, users()[i])
	}}
}

func (p *peer) unique() measure.Entrant {
	return measure.Entrant{Ops: 3_000, Elastic: true, Op: func(w *measure.Worker) error {
		i := w.Rand.IntN(loadedUsers)
		u, err := p.store.ByEmail(ctx, users()[i].Email)
		if err != nil {
			return err
		}
		return records.Check(u, users()[i])
	}}
}

func (p *peer) list() measure.Entrant {
	return measure.Entrant{Ops: 100, Elastic: true, Op: func(w *measure.Worker) error {
		category := w.Rand.IntN(loadedUsers / records.PerCategory)
		first := category * records.PerCategory
		found, err := p.store.ByCategory(ctx, users()[first].Category, records.PerCategory)
		if err == nil && len(found) != records.PerCategory {
			err = fmt.Errorf("a category of %d users has %d", records.PerCategory, len(found))
		}
		for i, u := range found {
			err = errors.Join(err, records.Check(u, users()[first+i]))
		}
		return err
	}}
}

// saveContest saves new users, and checks that they arrived.
func (p *peer) saveContest() measure.Entrant {
	return measure.Entrant{
		Ops: 300, Elastic: true,
		Op: func(*measure.Worker) error {
			return p.store.Save(ctx, records.Numbered(int(p.next.Add(1))-1))
		},
		Check: func(ops int) error {
			p.saved += ops
			if err := p.checkUsers(); err != nil {
				return err
			}
			last := int(p.next.Load()) - 1
			u, err := p.store.ByEmail(ctx, records.Numbered(last).Email)
			if err != nil {
				return err
			}
			return records.Check(u, records.Numbered(last))
		},
	}
}
