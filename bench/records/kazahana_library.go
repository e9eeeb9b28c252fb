// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"

	"github.com/kazahana-db/kazahana/bench/user"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Update implements [Library].
func (k *kazahana) Update(ctx context.Context, id uint64, name string) error {
	return k.users.Update(ctx, idgen.ID(id), func(u *user.User) error {
		u.Name = name
		return nil
	})
}

// CountCategory implements [Library].
func (k *kazahana) CountCategory(ctx context.Context, category string) (int, error) {
	n, err := k.users.CountByCategory(ctx, category)
	return int(n), err
}

// Page implements [Library]. It keeps the tokens of the pages that were asked for, as a
// client has the token of the next page.
func (k *kazahana) Page(ctx context.Context, before int) ([]User, error) {
	token, ok := k.tokens.Load(before)
	if !ok {
		var err error
		if token, err = k.skipPages(ctx, before); err != nil {
			return nil, err
		}
		k.tokens.Store(before, token)
	}
	page, err := k.pages().Page(ctx, token.(string))
	if err != nil {
		return nil, err
	}
	return plainUsers(page.Records), nil
}

func (k *kazahana) pages() *persistable.RangeQuery[*user.User, string] {
	return k.users.OrderedByCategoryCreatedAt().Limit(PerCategory)
}

// skipPages returns the token of the page with so many pages before it.
func (k *kazahana) skipPages(ctx context.Context, pages int) (token string, err error) {
	for range pages {
		page, err := k.pages().Page(ctx, token)
		if err != nil {
			return "", err
		}
		token = page.Next
	}
	return token, nil
}

// WholeCategory returns all users of a category in the order of time.
func (k *kazahana) WholeCategory(ctx context.Context, category string) ([]User, error) {
	found, err := k.users.ByCategoryCreatedAt(category).Slice(ctx)
	return plainUsers(found), err
}

// ScanPage returns the page of so many users in the order of ids with so many pages before it.
func (k *kazahana) ScanPage(ctx context.Context, before, size int) ([]User, error) {
	var token string
	if before > 0 {
		known, ok := k.scanTokens.Load(before)
		if !ok {
			if _, err := k.ScanPage(ctx, before-1, size); err != nil {
				return nil, err
			}
			known, _ = k.scanTokens.Load(before)
		}
		token = known.(string)
	}
	page, err := k.users.Scan().Limit(size).Page(ctx, token)
	if err != nil {
		return nil, err
	}
	k.scanTokens.Store(before+1, page.Next)
	return plainUsers(page.Records), nil
}

func plainUsers(from []*user.User) []User {
	users := make([]User, 0, len(from))
	for _, u := range from {
		users = append(users, plain(u))
	}
	return users
}

// LoadPlayers implements [Library].
func (k *kazahana) LoadPlayers(ctx context.Context, players []Player) error {
	records := make([]*user.Player, 0, len(players))
	for _, p := range players {
		records = append(records, user.NewPlayer(user.Player{
			Name: p.Name, Team: p.Team, Country: p.Country, JoinedAt: p.JoinedAt, Score: p.Score,
		}))
	}
	return k.players.CreateMany(ctx, records, persistable.BatchOptions{})
}

// Team implements [Library].
func (k *kazahana) Team(ctx context.Context, team string, limit int) ([]Row, error) {
	rows := make([]Row, 0, limit)
	for r, err := range k.players.ByTeamJoinedAtRows(team).Limit(limit).All(ctx) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{r.Name, r.Team, r.JoinedAt, r.Score})
	}
	return rows, nil
}

// CountCountry implements [Library].
func (k *kazahana) CountCountry(ctx context.Context, country string) (int, error) {
	n, err := k.players.CountByCountry(ctx, country)
	return int(n), err
}

// Nth implements [Library].
func (k *kazahana) Nth(ctx context.Context, n int) (Player, error) {
	p, err := k.players.NthByScore(ctx, int64(n))
	if err != nil {
		return Player{}, err
	}
	return Player{Row{p.Name, p.Team, p.JoinedAt, p.Score}, p.Country}, nil
}
