// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/tuple"
)

// Scores of players, in a list: which place has a score, which score is at a place?
func ExampleList() {
	ctx := context.Background()
	db, err := embedded.OpenMemory()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	list := &rank.List{Elements: []byte("scores/"), Levels: []byte("levels/")}
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		u := list.Start(tx, nil, [][]byte{score(300, "ann"), score(100, "bob"), score(200, "eve"), score(200, "joe")})
		if err := u.Plan(ctx); err != nil {
			return err
		}
		u.Write()
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		lower, err := list.Rank(ctx, tx, tuple.AppendInt(nil, 300))
		if err != nil {
			return err
		}
		best, err := list.Nth(ctx, tx, nil, 3)
		if err != nil {
			return err
		}
		median, err := list.Percentile(ctx, tx, nil, nil, 50)
		fmt.Println(lower, tuple.Describe(best), tuple.Describe(median))
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 3 (300, "ann") (200, "eve")
}

// score is the element of a player's score: equal scores are different elements.
func score(points int64, player string) []byte {
	return tuple.AppendString(tuple.AppendInt(nil, points), player)
}
