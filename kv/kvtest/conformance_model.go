// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

var modelKeys = []string{"", "\x00", "a", "a\x00", "aa", "ab", "b", "b\x00", "ba", "c", "c\xff", "d", "\xfe", "\xfe\xff"}

// checkOverlayModel runs random transactions of writes and reads, compares
// every answer with the model, and the contents after each commit.
func checkOverlayModel(c *conformance) {
	seed := seed.Of(c.TB)
	rng := rand.New(rand.NewPCG(seed, 1))
	m := model.Model{}
	for round := range 60 {
		tx := c.begin()
		c.version(tx)
		next := maps.Clone(m)
		for range 25 {
			modelStep(c, rng, tx, next)
		}
		if round%4 == 3 {
			tx.Cancel()
			next = m
		} else {
			c.commit(tx)
		}
		m = next
		c.want("contents", c.contents(), m.Scan(model.UserKeys().Selectors(), kv.RangeOptions{}))
		if c.Failed() {
			c.Fatalf("stopped in transaction %d of seed %d", round, seed)
		}
	}
}

// modelStep does one random thing to the transaction and to the model.
func modelStep(c *conformance, rng *rand.Rand, tx kv.Transaction, m model.Model) {
	key := pick(rng)
	switch rng.IntN(10) {
	case 0, 1:
		value := fmt.Sprint(rng.IntN(1000))
		tx.Set([]byte(key), []byte(value))
		m[key] = value
	case 2:
		tx.Clear([]byte(key))
		delete(m, key)
	case 3:
		r := randomRange(rng)
		tx.ClearRange(r)
		m.ClearRange(r)
	case 4:
		tx.Atomic(kv.AppendIfFits, []byte(key), []byte("+"))
		m[key] += "+"
	case 5, 6:
		want, ok := m[key]
		if !ok {
			want = model.Absent
		}
		c.want(fmt.Sprintf("Get(%q)", key), c.get(view(rng, tx), key), want)
	case 7:
		sel := randomSelector(rng)
		got, err := view(rng, tx).GetKey(sel).Get(c.ctx)
		c.wantCode("GetKey", err, 0)
		c.want("GetKey "+sel.String(), string(got), m.Key(sel))
	default:
		r := kv.SelectorRange{Begin: randomSelector(rng), End: randomSelector(rng)}
		o := kv.RangeOptions{Limit: rng.IntN(5), Reverse: rng.IntN(2) == 0, Mode: kv.ModeWantAll}
		c.want(fmt.Sprintf("GetRange %v to %v %+v", r.Begin, r.End, o), c.scan(view(rng, tx), r, o), m.Scan(r, o))
	}
}

func pick(rng *rand.Rand) string { return modelKeys[rng.IntN(len(modelKeys))] }

func view(rng *rand.Rand, tx kv.Transaction) kv.ReadTransaction {
	if rng.IntN(3) == 0 {
		return tx.Snapshot()
	}
	return tx
}

func randomRange(rng *rand.Rand) kv.KeyRange {
	from, to := pick(rng), pick(rng)
	return model.Span(min(from, to), max(from, to))
}

func randomSelector(rng *rand.Rand) kv.KeySelector {
	return kv.KeySelector{Key: []byte(pick(rng)), OrEqual: rng.IntN(2) == 0, Offset: rng.IntN(9) - 4}
}
