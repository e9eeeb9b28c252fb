// SPDX-License-Identifier: Apache-2.0

package entpeer

import (
	"context"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/entpeer/ent"
	"github.com/kazahana-db/kazahana/bench/records/entpeer/ent/player"
	"github.com/kazahana-db/kazahana/bench/records/entpeer/ent/user"
)

func convertRow(p *ent.Player) records.Row {
	return records.Row{Name: p.Name, Team: p.Team, JoinedAt: p.JoinedAt, Score: p.Score}
}

// Update implements [records.Library]: plain by UpdateOneID, which reads the user in a
// transaction, tuned by one statement.
func (s *store) Update(ctx context.Context, id uint64, name string) error {
	if s.plain {
		return s.write.User.UpdateOneID(int(id)).SetName(name).Exec(ctx)
	}
	return s.write.User.Update().Where(user.ID(int(id))).SetName(name).Exec(ctx)
}

// CountCategory implements [records.Library].
func (s *store) CountCategory(ctx context.Context, category string) (int, error) {
	return s.read.User.Query().Where(user.Category(category)).Count(ctx)
}

// Page implements [records.Library]: plain by OFFSET, tuned by the last user of the page
// before.
func (s *store) Page(ctx context.Context, before int) ([]records.User, error) {
	query := s.read.User.Query().Order(user.ByCategory(), user.ByCreatedAt()).Limit(records.PerCategory)
	if s.plain {
		query = query.Offset(before * records.PerCategory)
	} else {
		last := records.Numbered(before*records.PerCategory - 1)
		query = query.Where(func(s *entsql.Selector) {
			s.Where(entsql.ExprP("(category, created_at) > (?, ?)", last.Category, last.CreatedAt))
		})
	}
	found, err := query.All(ctx)
	users := make([]records.User, 0, len(found))
	for _, u := range found {
		users = append(users, convert(u))
	}
	return users, err
}

// LoadPlayers implements [records.Library].
func (s *store) LoadPlayers(ctx context.Context, players []records.Player) error {
	const batch = 1000
	for some := range slices.Chunk(players, batch) {
		creates := make([]*ent.PlayerCreate, 0, len(some))
		for _, p := range some {
			creates = append(creates, s.write.Player.Create().SetName(p.Name).SetTeam(p.Team).
				SetCountry(p.Country).SetJoinedAt(p.JoinedAt).SetScore(p.Score))
		}
		if err := s.write.Player.CreateBulk(creates...).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Team implements [records.Library].
func (s *store) Team(ctx context.Context, team string, limit int) ([]records.Row, error) {
	found, err := s.read.Player.Query().Where(player.Team(team)).Order(player.ByJoinedAt()).Limit(limit).
		Select(player.FieldID, player.FieldTeam, player.FieldJoinedAt, player.FieldName, player.FieldScore).All(ctx)
	rows := make([]records.Row, 0, len(found))
	for _, p := range found {
		rows = append(rows, convertRow(p))
	}
	return rows, err
}

// CountCountry implements [records.Library].
func (s *store) CountCountry(ctx context.Context, country string) (int, error) {
	return s.read.Player.Query().Where(player.Country(country)).Count(ctx)
}

// Nth implements [records.Library].
func (s *store) Nth(ctx context.Context, n int) (records.Player, error) {
	p, err := s.read.Player.Query().Order(player.ByScore()).Offset(n).First(ctx)
	if err != nil {
		return records.Player{}, err
	}
	return records.Player{Row: convertRow(p), Country: p.Country}, nil
}
