// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"fmt"
	"time"
)

// Library is a store with the operations beyond [Store] that the contests between the
// libraries measure, and a second type, [Player].
type Library interface {
	Store
	// Update changes the name of the user with an id.
	Update(ctx context.Context, id uint64, name string) error
	// CountCategory returns the number of users of a category.
	CountCategory(ctx context.Context, category string) (int, error)
	// Page returns PerCategory users in the order of category and time: the page with
	// that many pages before it. All users before it are those of [Numbered], from 0 on.
	Page(ctx context.Context, before int) ([]User, error)

	// LoadPlayers saves many players as fast as the library can.
	LoadPlayers(ctx context.Context, players []Player) error
	// Team returns the first players of a team in the order of time.
	Team(ctx context.Context, team string, limit int) ([]Row, error)
	// CountCountry returns the number of players of a country.
	CountCountry(ctx context.Context, country string) (int, error)
	// Nth returns the player with n players before it in the order of the score.
	// Raw Pebble has no such operation: it returns [errors.ErrUnsupported].
	Nth(ctx context.Context, n int) (Player, error)
}

// Row is what a list of a team needs of a player.
type Row struct {
	Name, Team string
	JoinedAt   time.Time
	Score      int64
}

// Player is the record of the contests on kinds of index that User does not have.
type Player struct {
	Row
	Country string
}

// Countries is how many countries there are.
const Countries = 10

// NumberedPlayers returns the players from 0 to n, a power of ten. PerCategory players
// follow each other in each team; the scores are from 0 to n, in no order.
func NumberedPlayers(n int) []Player {
	const prime = 7_368_787 // shares no factor with a power of ten
	all := make([]Player, n)
	for i := range all {
		all[i] = Player{Row{
			Name: fmt.Sprintf("Player Number %d", i), Team: Team(i / PerCategory),
			JoinedAt: start.Add(time.Duration(i) * time.Second), Score: int64(i * prime % n),
		}, Country(i % Countries)}
	}
	return all
}

// Team returns the name of team number i.
func Team(i int) string { return fmt.Sprintf("team%05d", i) }

// Country returns the name of country number i.
func Country(i int) string { return fmt.Sprintf("country%d", i) }

// Check returns an error if two rows differ.
func (r Row) Check(want Row) error {
	if r.Name != want.Name || r.Team != want.Team || !r.JoinedAt.Equal(want.JoinedAt) || r.Score != want.Score {
		return fmt.Errorf("got the player %v, want %v", r, want)
	}
	return nil
}
