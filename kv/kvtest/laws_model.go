// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// model is a database as a sorted map: the naive meaning of every call.
type model map[string]string

var modelKeys = []string{"", "\x00", "a", "a\x00", "aa", "ab", "b", "b\x00", "ba", "c", "c\xff", "d", "\xfe", "\xfe\xff"}

func (m model) keys() []string { return slices.Sorted(maps.Keys(m)) }

// position is the index of the key that a selector names, or one outside.
func (m model) position(sel kv.KeySelector) int {
	keys := m.keys()
	at, exact := slices.BinarySearch(keys, string(sel.Key))
	if !exact || !sel.OrEqual {
		at-- // the last key less than sel.Key
	}
	return at + sel.Offset
}

func (m model) key(sel kv.KeySelector) string {
	keys, at := m.keys(), m.position(sel)
	switch {
	case at < 0:
		return ""
	case at >= len(keys):
		return "\xff"
	}
	return keys[at]
}

func (m model) scan(r kv.SelectorRange, o kv.RangeOptions) []string {
	keys := m.keys()
	bound := func(sel kv.KeySelector) int { return min(max(m.position(sel), 0), len(keys)) }
	from, to := bound(r.Begin), bound(r.End)
	texts := []string{}
	for _, k := range keys[from:max(from, to)] {
		texts = append(texts, k+"="+m[k])
	}
	if o.Reverse {
		slices.Reverse(texts)
	}
	if o.Limit > 0 && o.Limit < len(texts) {
		texts = texts[:o.Limit]
	}
	return texts
}

func (m model) clearRange(r kv.KeyRange) {
	maps.DeleteFunc(m, func(k, _ string) bool { return k >= string(r.Begin) && k < string(r.End) })
}

// checkOverlayModel runs random transactions of writes and reads, compares
// every answer with the model, and the contents after each commit.
func checkOverlayModel(c *conformance) {
	seed := SeedT(c.TB)
	rng := rand.New(rand.NewPCG(seed, 1))
	m := model{}
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
		c.want("contents", c.contents(), m.scan(userKeys().Selectors(), kv.RangeOptions{}))
		if c.Failed() {
			c.Fatalf("stopped in transaction %d of seed %d", round, seed)
		}
	}
}

// modelStep does one random thing to the transaction and to the model.
func modelStep(c *conformance, rng *rand.Rand, tx kv.Transaction, m model) {
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
		m.clearRange(r)
	case 4:
		tx.Atomic(kv.AppendIfFits, []byte(key), []byte("+"))
		m[key] += "+"
	case 5, 6:
		want, ok := m[key]
		if !ok {
			want = absent
		}
		c.want(fmt.Sprintf("Get(%q)", key), c.get(view(rng, tx), key), want)
	case 7:
		sel := randomSelector(rng)
		got, err := view(rng, tx).GetKey(sel).Get(c.ctx)
		c.wantCode("GetKey", err, 0)
		c.want("GetKey "+sel.String(), string(got), m.key(sel))
	default:
		r := kv.SelectorRange{Begin: randomSelector(rng), End: randomSelector(rng)}
		o := kv.RangeOptions{Limit: rng.IntN(5), Reverse: rng.IntN(2) == 0, Mode: kv.ModeWantAll}
		c.want(fmt.Sprintf("GetRange %v to %v %+v", r.Begin, r.End, o), c.scan(view(rng, tx), r, o), m.scan(r, o))
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
	return span(min(from, to), max(from, to))
}

func randomSelector(rng *rand.Rand) kv.KeySelector {
	return kv.KeySelector{Key: []byte(pick(rng)), OrEqual: rng.IntN(2) == 0, Offset: rng.IntN(9) - 4}
}
