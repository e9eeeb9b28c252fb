// SPDX-License-Identifier: Apache-2.0

package holdpeer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/timshannon/badgerhold/v4"

	"github.com/kazahana-db/kazahana/bench/records"
)

// player is the model. It has no index on the country: badgerhold keeps the keys of an
// index's value in one list, which each insert of a record with that value would write.
type player struct {
	ID       uint64 `badgerhold:"key"`
	Name     string
	Team     string `badgerhold:"index"`
	Country  string
	JoinedAt time.Time
	Score    int64
}

func (p *player) toRow() records.Row {
	return records.Row{Name: p.Name, Team: p.Team, JoinedAt: p.JoinedAt, Score: p.Score}
}

// Update implements [records.Library]. Updates of users of one category conflict, because
// they write the list of the index.
func (s *store) Update(_ context.Context, id uint64, name string) error {
	for {
		err := s.db.Badger().Update(func(tx *badger.Txn) error {
			var u user
			if err := s.db.TxGet(tx, id, &u); err != nil {
				return err
			}
			u.Name = name
			return s.db.TxUpdate(tx, id, &u)
		})
		if !errors.Is(err, badger.ErrConflict) {
			return err
		}
	}
}

// CountCategory implements [records.Library].
func (s *store) CountCategory(_ context.Context, category string) (int, error) {
	n, err := s.db.Count(&user{}, badgerhold.Where("Category").Eq(category).Index("Category"))
	return int(n), err
}

// Page implements [records.Library]. badgerhold sorts all users.
func (s *store) Page(_ context.Context, before int) ([]records.User, error) {
	var found []user
	err := s.db.Find(&found, new(badgerhold.Query).SortBy("Category", "CreatedAt").
		Skip(before*records.PerCategory).Limit(records.PerCategory))
	users := make([]records.User, 0, len(found))
	for i := range found {
		users = append(users, found[i].toUser())
	}
	return users, err
}

// LoadPlayers implements [records.Library].
func (s *store) LoadPlayers(_ context.Context, players []records.Player) error {
	const batch = 1000
	for some := range slices.Chunk(players, batch) {
		err := s.db.Badger().Update(func(tx *badger.Txn) error {
			for _, p := range some {
				m := &player{Name: p.Name, Team: p.Team, Country: p.Country, JoinedAt: p.JoinedAt, Score: p.Score}
				if err := s.db.TxInsert(tx, badgerhold.NextSequence(), m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Team implements [records.Library].
func (s *store) Team(_ context.Context, team string, limit int) ([]records.Row, error) {
	var found []player
	err := s.db.Find(&found, badgerhold.Where("Team").Eq(team).Index("Team").SortBy("JoinedAt").Limit(limit))
	rows := make([]records.Row, 0, len(found))
	for i := range found {
		rows = append(rows, found[i].toRow())
	}
	return rows, err
}

// CountCountry implements [records.Library].
func (s *store) CountCountry(_ context.Context, country string) (int, error) {
	n, err := s.db.Count(&player{}, badgerhold.Where("Country").Eq(country))
	return int(n), err
}

// Nth implements [records.Library]. badgerhold sorts all players.
func (s *store) Nth(_ context.Context, n int) (records.Player, error) {
	var found []player
	if err := s.db.Find(&found, new(badgerhold.Query).SortBy("Score").Skip(n).Limit(1)); err != nil {
		return records.Player{}, err
	}
	if len(found) != 1 {
		return records.Player{}, fmt.Errorf("%d players have %d before them", len(found), n)
	}
	return records.Player{Row: found[0].toRow(), Country: found[0].Country}, nil
}
