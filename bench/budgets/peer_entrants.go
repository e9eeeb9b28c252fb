// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records"
)

// rows lists the players of a team, without what only their records hold.
func (p *peer) rows() measure.Entrant {
	return measure.Entrant{Ops: 100, Elastic: true, Op: func(w *measure.Worker) error {
		first := w.Rand.IntN(loadedUsers/records.PerCategory) * records.PerCategory
		found, err := p.records.Team(ctx, players()[first].Team, records.PerCategory)
		if err == nil && len(found) != records.PerCategory {
			err = fmt.Errorf("a team of %d players has %d", records.PerCategory, len(found))
		}
		for i, row := range found {
			err = errors.Join(err, row.Check(players()[first+i].Row))
		}
		return err
	}}
}

// page reads page 1,000 of the users.
func (p *peer) page() measure.Entrant {
	if p.slow {
		return measure.Entrant{}
	}
	const before = loadedUsers/records.PerCategory - 1
	return measure.Entrant{Ops: 20, Elastic: true, Op: func(*measure.Worker) error {
		found, err := p.records.Page(ctx, before)
		if err == nil && len(found) != records.PerCategory {
			err = fmt.Errorf("a page of %d users has %d", records.PerCategory, len(found))
		}
		for i, u := range found {
			err = errors.Join(err, records.Check(u, users()[before*records.PerCategory+i]))
		}
		return err
	}}
}

// countCategory counts a group of 100.
func (p *peer) countCategory() measure.Entrant {
	return measure.Entrant{Ops: 1_000, Elastic: true, Op: func(w *measure.Worker) error {
		i := w.Rand.IntN(loadedUsers / records.PerCategory)
		return checkCount(records.PerCategory)(p.records.CountCategory(ctx, records.Category(i)))
	}}
}

// countCountry counts a group of 10,000.
func (p *peer) countCountry() measure.Entrant {
	if p.slow {
		return measure.Entrant{}
	}
	return measure.Entrant{Ops: 20, Elastic: true, Op: func(w *measure.Worker) error {
		i := w.Rand.IntN(records.Countries)
		return checkCount(loadedUsers / records.Countries)(p.records.CountCountry(ctx, records.Country(i)))
	}}
}

func checkCount(want int) func(n int, err error) error {
	return func(n int, err error) error {
		if err == nil && n != want {
			err = fmt.Errorf("a group of %d has %d", want, n)
		}
		return err
	}
}

// nth finds a player by the number of players with a lesser score.
func (p *peer) nth() measure.Entrant {
	if p.slow || p.raw {
		return measure.Entrant{}
	}
	return measure.Entrant{Ops: 20, Elastic: true, Op: func(w *measure.Worker) error {
		n := w.Rand.IntN(loadedUsers)
		found, err := p.records.Nth(ctx, n)
		if err == nil && found.Score != int64(n) {
			err = fmt.Errorf("%d players come before the score %d", n, found.Score)
		}
		return err
	}}
}

// update changes the names of the users. Contests after it cannot check them.
func (p *peer) update() measure.Entrant {
	const renamed = "Renamed User "
	var last atomic.Int64 // a user that was updated
	return measure.Entrant{
		Ops: 300, Elastic: true,
		Op: func(w *measure.Worker) error {
			i := w.Rand.IntN(loadedUsers)
			last.Store(int64(i))
			return p.records.Update(ctx, p.ids[i], renamed+strconv.Itoa(w.N))
		},
		Check: func(int) error {
			u, err := p.records.Get(ctx, p.ids[last.Load()])
			if err == nil && !strings.HasPrefix(u.Name, renamed) {
				err = fmt.Errorf("%s has still the name %q", u.Email, u.Name)
			}
			return err
		},
	}
}
