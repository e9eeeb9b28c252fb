// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// Player has ranks: of all players, and of those of a game.
type Player struct {
	ID    int64
	Game  string
	Score int64
}

type PlayerStore struct {
	persistable.Store[*Player, int64]
}

func (s *PlayerStore) SaveIfVersion(ctx context.Context, version persistable.Version, v *Player) error {
	return s.Feed().SaveIfVersion(ctx, version, v)
}

// Feed returns the changes of the records in this directory.
func (s *PlayerStore) Feed() *persistable.Feed[*Player, int64] { return persistable.FeedOf(&s.Store) }

func PlayerStoreOf(db *persistable.DB) *PlayerStore {
	return &PlayerStore{persistimpl.NewStore[*Player, int64](db, playerSchema)}
}

func (s *PlayerStore) In(tx persistable.Tx) *PlayerStore { return &PlayerStore{s.Store.In(tx)} }

func (s *PlayerStore) RankOfScore(ctx context.Context, score int64) (int64, error) {
	return persistimpl.RankOf(ctx, &s.Store, 0, nil, persistimpl.AppendInt(nil, score))
}

func (s *PlayerStore) NthByScore(ctx context.Context, n int64) (*Player, error) {
	return persistimpl.Nth(ctx, &s.Store, 0, nil, n)
}

func (s *PlayerStore) PercentileOfScore(ctx context.Context, p float64) (*Player, error) {
	return persistimpl.Percentile(ctx, &s.Store, 0, nil, p)
}

func (s *PlayerStore) TopByScore(ctx context.Context, n int) ([]*Player, error) {
	return persistimpl.Top(ctx, &s.Store, 0, nil, n)
}

func (s *PlayerStore) RankOfScoreByGame(ctx context.Context, game string, score int64) (int64, error) {
	return persistimpl.RankOf(ctx, &s.Store, 1, persistimpl.AppendString(nil, game), persistimpl.AppendInt(nil, score))
}

func (s *PlayerStore) NthByScoreByGame(ctx context.Context, game string, n int64) (*Player, error) {
	return persistimpl.Nth(ctx, &s.Store, 1, persistimpl.AppendString(nil, game), n)
}

func (s *PlayerStore) PercentileOfScoreByGame(ctx context.Context, game string, p float64) (*Player, error) {
	return persistimpl.Percentile(ctx, &s.Store, 1, persistimpl.AppendString(nil, game), p)
}

func (s *PlayerStore) TopByScoreByGame(ctx context.Context, game string, n int) ([]*Player, error) {
	return persistimpl.Top(ctx, &s.Store, 1, persistimpl.AppendString(nil, game), n)
}

var playerSchema = playerSchemaWith(true)

// playerSchemaWith returns the schema, or that of a program before it had the ranks.
func playerSchemaWith(ranks bool) *persistimpl.Schema {
	s := &persistimpl.Schema{
		Type:      "Player",
		Directory: []persistimpl.PathElement{{Name: "players"}},
		Lock: `type Player
	origin example.com/shop
	id int
	directory "players"
	field 1 ID int64
	field 2 Game string
	field 3 Score int64
`,
		IDs:    &persistimpl.IDs[int64]{IsZero: persistimpl.IsZero[int64], Append: persistimpl.AppendInt[int64], Parse: persistimpl.ReadInt[int64]},
		ID:     func(v any) any { return &v.(*Player).ID },
		Encode: encodePlayer,
		Decode: decodePlayer,
		Known:  &wire.FieldSet{Numbers: []int32{1, 2, 3}},
	}
	if ranks {
		s.Indexes = []index.Definition{
			{Name: "Player_rank_Score", Kind: index.Rank, Fields: []string{"Score"}, Signature: "int"},
			{Name: "Player_rank_Game_Score", Kind: index.Rank, Fields: []string{"Game", "Score"}, Signature: "string,int"},
		}
		s.Entries = func(i int, e *index.Entries, record any) {
			v := record.(*Player)
			k := e.Begin()
			if i == 1 {
				k = persistimpl.AppendString(k, v.Game)
			}
			e.End(persistimpl.AppendInt(k, v.Score))
		}
	}
	return s
}

func encodePlayer(b []byte, record any) ([]byte, error) {
	v := record.(*Player)
	b = wire.AppendZigzag(append(b, 0x08), v.ID)
	b = wire.AppendString(append(b, 0x12), v.Game)
	return wire.AppendZigzag(append(b, 0x18), v.Score), nil
}

func decodePlayer(b []byte, s *wire.Strings) (any, error) {
	v := new(Player)
	r := s.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = r.Int(64)
		case 2:
			v.Game = r.String()
		case 3:
			v.Score = r.Int(64)
		default:
			r.Skip()
		}
	}
	return v, r.Err()
}
