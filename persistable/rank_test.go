// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// players are what a store of players holds, by id.
type players map[int64]Player

// sorted returns the players of a game, of all for "", in the order of ranks.
func (p players) sorted(game string) (all []Player) {
	for _, v := range p {
		if game == "" || v.Game == game {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b Player) int { return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.ID, b.ID)) })
	return all
}

// TestRanksModel writes players at random and compares every answer with a sorted slice,
// also between the writes of a transaction.
func TestRanksModel(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"plain", "hostile"} {
		t.Run(engine, func(t *testing.T) {
			e, steps := enginetest.Open(t), 60
			if engine == "hostile" {
				e, steps = faults.Hostile(e, faults.Options{Seed: seed.Of(t), MaxDelay: -1}), 15
			}
			db, rng, all := open(t, e), seed.Rand(t), players{}
			s := PlayerStoreOf(db)
			compareRanks(t, s, rng, all)
			for range steps {
				state, before := rng.Uint64(), all
				check(t, db.Transact(ctx, func(tx persistable.Tx) error {
					rng := rand.New(rand.NewPCG(state, 0))
					all = players{}
					for id, v := range before {
						all[id] = v
					}
					return changePlayers(s.In(tx), rng, all)
				}))
				compareRanks(t, s, rng, all)
			}
			report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
			if len(report.Faults) > 0 || report.Entries != 2*len(all) {
				t.Errorf("Verify finds %v, and %d entries of %d players", report.Faults, report.Entries, len(all))
			}
		})
	}
}

// games are of three groups. The packed name of one begins with that of another.
var games = []string{"go", "chess", "go\x00b"}

// changePlayers makes some random changes.
func changePlayers(s *PlayerStore, rng *rand.Rand, all players) error {
	for range 1 + rng.IntN(12) {
		v := Player{ID: 1 + rng.Int64N(90), Game: games[rng.IntN(len(games))], Score: rng.Int64N(25)}
		if rng.IntN(4) == 0 {
			delete(all, v.ID)
			if err := s.Delete(ctx, v.ID); err != nil {
				return err
			}
			continue
		}
		all[v.ID] = v
		if err := s.Save(ctx, &v); err != nil {
			return err
		}
	}
	return askPlayers(s, rng, all)
}

func compareRanks(t *testing.T, s *PlayerStore, rng *rand.Rand, all players) {
	t.Helper()
	check(t, askPlayers(s, rng, all))
}

// askPlayers compares the answers of a store.
func askPlayers(s *PlayerStore, rng *rand.Rand, all players) error {
	for _, game := range slices.Concat(games, []string{"", "none"}) {
		want := all.sorted(game)
		if err := askRank(s, game, rng.Int64N(27), want); err != nil {
			return err
		}
		if err := askNth(s, game, rng.Int64N(int64(len(want))+2)-1, want); err != nil {
			return err
		}
		if err := askTop(s, game, 1+rng.IntN(5), want); err != nil {
			return err
		}
	}
	return nil
}

func askRank(s *PlayerStore, game string, score int64, want []Player) error {
	n, err := s.RankOfScore(ctx, score)
	if game != "" {
		n, err = s.RankOfScoreByGame(ctx, game, score)
	}
	lower := 0
	for _, v := range want {
		if v.Score < score {
			lower++
		}
	}
	if err == nil && n != int64(lower) {
		err = fmt.Errorf("the rank of %d in %q is %d, want %d", score, game, n, lower)
	}
	return err
}

func askNth(s *PlayerStore, game string, n int64, want []Player) error {
	v, err := s.NthByScore(ctx, n)
	median, err2 := s.PercentileOfScore(ctx, 50)
	if game != "" {
		v, err = s.NthByScoreByGame(ctx, game, n)
		median, err2 = s.PercentileOfScoreByGame(ctx, game, 50)
	}
	if n < 0 || n >= int64(len(want)) {
		if !errors.Is(err, persistable.ErrNotFound) {
			return cmp.Or(err, fmt.Errorf("player %d of %d in %q is %v", n, len(want), game, v))
		}
		return nil
	}
	if err := cmp.Or(err, err2); err != nil {
		return err
	}
	if *v != want[n] || *median != want[(len(want)-1)/2] {
		return fmt.Errorf("player %d in %q is %v, the median %v; want %v and %v", n, game, v, median, want[n], want[(len(want)-1)/2])
	}
	return nil
}

func askTop(s *PlayerStore, game string, n int, want []Player) error {
	top, err := s.TopByScore(ctx, n)
	if game != "" {
		top, err = s.TopByScoreByGame(ctx, game, n)
	}
	if err != nil {
		return err
	}
	want = slices.Clone(want)
	slices.Reverse(want)
	want = want[:min(n, len(want))]
	if !slices.EqualFunc(top, want, func(a *Player, b Player) bool { return *a == b }) {
		return fmt.Errorf("the first %d in %q are %v, want %v", n, game, top, want)
	}
	return nil
}

// TestRanksOfConcurrentWriters has goroutines write players of one game.
func TestRanksOfConcurrentWriters(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s, all := PlayerStoreOf(db), players{}
		var mu sync.Mutex
		var group sync.WaitGroup
		random := seed.Of(t)
		for g := range int64(6) {
			rng := rand.New(rand.NewPCG(random, uint64(g)))
			group.Go(func() {
				for range 12 {
					v := Player{ID: 10*rng.Int64N(8) + g + 1, Game: "go", Score: rng.Int64N(1000)}
					if err := s.Save(ctx, &v); err != nil {
						t.Error(err)
					}
					mu.Lock()
					all[v.ID] = v
					mu.Unlock()
				}
			})
		}
		group.Wait()
		compareRanks(t, s, seed.Rand(t), all)
		if report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
			t.Error(report.Faults)
		}
	})
}

// TestRanksAreBuilt adds the ranks to records, while others are written, builds them again,
// and removes them.
func TestRanksAreBuilt(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 40})
	before := playerSchemaWith(false)
	old := persistimpl.NewStore[*Player, int64](db, before)
	all := players{}
	for id := int64(1); id <= 300; id++ {
		all[id] = Player{ID: id, Game: "go", Score: id * 7 % 100}
		v := all[id]
		check(t, old.Save(ctx, &v))
	}
	s := PlayerStoreOf(db)
	var group sync.WaitGroup
	group.Go(func() {
		for id := int64(3); id <= 300; id += 3 {
			v := Player{ID: id, Game: "chess", Score: id}
			if err := s.Save(ctx, &v); err != nil {
				t.Error(err)
			}
		}
	})
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	group.Wait()
	for id := int64(3); id <= 300; id += 3 {
		all[id] = Player{ID: id, Game: "chess", Score: id}
	}
	compareRanks(t, s, seed.Rand(t), all)
	check(t, s.Indexes().Rebuild(ctx, "Player_rank_Game_Score", persistable.BuildOptions{}))
	compareRanks(t, s, seed.Rand(t), all)
	if report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
		t.Error(report.Faults)
	}
	check(t, old.Indexes().RemoveUnused(ctx))
	prefix := string(prefixOf(t, db, "players"))
	for key := range dump(t, db) {
		if len(key) > len(prefix)+2 && key[:len(prefix)] == prefix && (key[len(prefix)+1] == 'I' || key[len(prefix)+1] == 'L') {
			t.Errorf("the removed index left %q", key)
		}
	}
}

// TestVerifyFindsWrongRanks changes a count by hand.
func TestVerifyFindsWrongRanks(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := PlayerStoreOf(db)
	for id := int64(1); id <= 40; id++ {
		check(t, s.Save(ctx, &Player{ID: id, Game: "go", Score: id}))
	}
	prefix := prefixOf(t, db, "players")
	write(t, db, func(tx kv.Transaction) {
		tx.Atomic(kv.Add, append(prefix, "\x02L\x00\x02Player_rank_Score\x00\x15\x02"...), kv.Int64(1))
	})
	report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
	if len(report.Faults) != 1 || report.Faults[0].Index != "Player_rank_Score" {
		t.Errorf("Verify finds %v", report.Faults)
	}
	check(t, s.Indexes().Rebuild(ctx, "Player_rank_Score", persistable.BuildOptions{}))
	if report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
		t.Error(report.Faults)
	}
}

// TestRankBudgets counts the rounds of writes and questions.
func TestRankBudgets(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	s := PlayerStoreOf(open(t, counter))
	for id := int64(1); id <= 60; id++ {
		check(t, s.Save(ctx, &Player{ID: id, Game: "go", Score: id}))
	}
	for _, c := range []struct {
		name   string
		rounds int
		fn     func() error
	}{
		{"a save that changes a score", 2, func() error { return s.Save(ctx, &Player{ID: 7, Game: "go", Score: 70}) }},
		{"a save that does not", 1, func() error { return s.Save(ctx, &Player{ID: 7, Game: "go", Score: 70}) }},
		{"RankOf", 1, func() error { _, err := s.RankOfScoreByGame(ctx, "go", 30); return err }},
		{"Nth of few", 3, func() error { _, err := s.NthByScore(ctx, 3); return err }},
		{"Top", 2, func() error { _, err := s.TopByScore(ctx, 3); return err }},
	} {
		cost, err := counter.Measure(c.fn)
		if err != nil || cost.Rounds > c.rounds {
			t.Errorf("%s takes %v (%v), want at most %d rounds", c.name, cost, err, c.rounds)
		}
	}
}
