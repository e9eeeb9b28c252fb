// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
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

// players returns those that are loaded.
var players = sync.OnceValue(func() []records.Player { return records.NumberedPlayers(loadedUsers) })

// recordStores compare whole records: the generated store on the engine with
// the libraries that a program would use otherwise, and with raw Pebble.
var recordStores = measure.Stage{Name: "record", Section: "records", Open: func(dir string) (*measure.Set, error) {
	peers, err := openPeers(dir)
	set := &measure.Set{Close: func() (err error) {
		for _, p := range peers {
			err = errors.Join(err, p.store.Close())
		}
		return err
	}}
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	rest()
	set.Contests = recordContests(peers)
	return set, nil
}}

// openPeers loads all libraries at the same time, and returns those that could be.
func openPeers(dir string) ([]*peer, error) {
	all := libraries()
	peers, errs := make([]*peer, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { peers[i], errs[i] = all[i].openLoaded(dir) })
	}
	wg.Wait()
	return slices.DeleteFunc(peers, func(p *peer) bool { return p == nil }), errors.Join(errs...)
}

// recordContests are the contests, those that change users last.
func recordContests(peers []*peer) (all []measure.Contest) {
	for _, n := range []int{1, 64} {
		all = append(all,
			timed(recordContest("get", "get by id", n, peers, 8, (*peer).get)),
			timed(recordContest("unique", "get by a unique field", n, peers, 5, (*peer).unique)),
			recordContest("list", "100 records in the order of an index", n, peers, 2.5, (*peer).list),
			recordContest("rows", "100 rows of an index that covers them", n, peers, 8, (*peer).rows),
		)
	}
	all = append(all,
		recordContest("page", "page 1,000, of 100 records", 1, peers, 0, (*peer).page),
		recordContest("count-100", "the number of the 100 records of a group", 1, peers, 0, (*peer).countCategory),
		recordContest("count-10k", "the number of the 10,000 records of a group", 1, peers, 0, (*peer).countCountry),
		recordContest("nth", "the n-th of 100,000 records by a value", 1, peers, 0, (*peer).nth),
	)
	for _, n := range []int{1, 64} {
		create := recordContest("create", "create with a unique, a compound and a count index", n, peers, 0, (*peer).create)
		update := recordContest("update", "update of a field by id", n, peers, 0, (*peer).update)
		create.Durable, update.Durable, create.Times, update.Times = true, true, true, true
		all = append(all, create, update)
	}
	return all
}

func timed(c measure.Contest) measure.Contest {
	c.Times = true
	return c
}

// recordContest is a contest of all peers that have the operation. The first must meet the
// budget against each other peer that is not raw.
func recordContest(name, about string, n int, peers []*peer, least float64, entrant func(p *peer) measure.Entrant) measure.Contest {
	c := measure.Contest{Name: fmt.Sprintf("record-%s-%d", name, n), About: about + ", " + goroutines(n)}
	for i, p := range peers {
		e := entrant(p)
		if e.Op == nil {
			continue
		}
		e.Name, e.Form, e.Goroutines = p.name, p.form, n
		if i > 0 && !p.raw && p.form == "" {
			e.Least = least
		}
		c.Entrants = append(c.Entrants, e)
	}
	return c
}

// peer is one of the stores.
type peer struct {
	name    string
	form    string // of the first, with other options
	store   records.Store
	records records.Library // the same store; nil on a cluster
	raw     bool            // an engine used by hand: the budget does not count against it
	slow    bool            // it sorts all records for a page, and takes seconds

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

// create saves new users, and checks that they arrived.
func (p *peer) create() measure.Entrant {
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
