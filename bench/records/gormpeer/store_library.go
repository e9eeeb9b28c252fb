// SPDX-License-Identifier: Apache-2.0

package gormpeer

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/bench/records"
)

// player is the model. Its first index covers what a list of a team needs.
type player struct {
	ID       uint64    `gorm:"primaryKey"`
	Team     string    `gorm:"index:of_team,priority:1"`
	JoinedAt time.Time `gorm:"index:of_team,priority:2"`
	Name     string    `gorm:"index:of_team,priority:3"`
	Score    int64     `gorm:"index:of_team,priority:4;index:by_score"`
	Country  string    `gorm:"index:by_country"`
}

func (p *player) toRow() records.Row {
	return records.Row{Name: p.Name, Team: p.Team, JoinedAt: p.JoinedAt, Score: p.Score}
}

// Update implements [records.Library].
func (s *store) Update(ctx context.Context, id uint64, name string) error {
	return s.write.WithContext(ctx).Model(&user{ID: id}).Update("name", name).Error
}

// CountCategory implements [records.Library].
func (s *store) CountCategory(ctx context.Context, category string) (int, error) {
	var n int64
	err := s.read.WithContext(ctx).Model(&user{}).Where("category = ?", category).Count(&n).Error
	return int(n), err
}

// Page implements [records.Library]: plain by OFFSET, tuned by the last user of the page
// before.
func (s *store) Page(ctx context.Context, before int) ([]records.User, error) {
	query := s.read.WithContext(ctx).Order("category, created_at").Limit(records.PerCategory)
	if s.plain {
		query = query.Offset(before * records.PerCategory)
	} else {
		last := records.Numbered(before*records.PerCategory - 1)
		query = query.Where("(category, created_at) > (?, ?)", last.Category, last.CreatedAt)
	}
	var found []user
	err := query.Find(&found).Error
	users := make([]records.User, 0, len(found))
	for i := range found {
		users = append(users, found[i].toUser())
	}
	return users, err
}

// LoadPlayers implements [records.Library].
func (s *store) LoadPlayers(ctx context.Context, players []records.Player) error {
	models := make([]*player, 0, len(players))
	for _, p := range players {
		models = append(models, &player{Team: p.Team, JoinedAt: p.JoinedAt, Name: p.Name, Score: p.Score, Country: p.Country})
	}
	return s.write.WithContext(ctx).CreateInBatches(models, 1000).Error
}

// Team implements [records.Library].
func (s *store) Team(ctx context.Context, team string, limit int) ([]records.Row, error) {
	var found []player
	err := s.read.WithContext(ctx).Select("id", "team", "joined_at", "name", "score").
		Where("team = ?", team).Order("joined_at").Limit(limit).Find(&found).Error
	rows := make([]records.Row, 0, len(found))
	for i := range found {
		rows = append(rows, found[i].toRow())
	}
	return rows, err
}

// CountCountry implements [records.Library].
func (s *store) CountCountry(ctx context.Context, country string) (int, error) {
	var n int64
	err := s.read.WithContext(ctx).Model(&player{}).Where("country = ?", country).Count(&n).Error
	return int(n), err
}

// Nth implements [records.Library].
func (s *store) Nth(ctx context.Context, n int) (records.Player, error) {
	var p player
	err := s.read.WithContext(ctx).Order("score").Offset(n).Limit(1).Take(&p).Error
	return records.Player{Row: p.toRow(), Country: p.Country}, err
}
