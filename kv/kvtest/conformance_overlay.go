// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/play"
)

var overlayLaws = []law{
	{"a transaction reads its own writes", func(c *conformance) {
		c.put("a", "1", "b", "1", "c", "1", "d", "1")
		tx := c.begin()
		tx.Set([]byte("a"), []byte("2"))
		tx.Clear([]byte("b"))
		tx.ClearRange(model.Span("c", "d"))
		tx.Set([]byte("e"), []byte("2"))
		for key, want := range map[string]string{"a": "2", "b": model.Absent, "c": model.Absent, "d": "1", "e": "2"} {
			c.want(key, c.get(tx, key), want)
			c.want(key+" in a snapshot", c.get(tx.Snapshot(), key), want)
		}
		want := []string{"a=2", "d=1", "e=2"}
		c.want("all", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{}), want)
		c.want("all in a snapshot", c.scan(tx.Snapshot(), model.UserKeys().Selectors(), kv.RangeOptions{}), want)
		c.want("the last two", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{Limit: 2, Reverse: true}), []string{"e=2", "d=1"})
	}},
	{"the last write of a key wins", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("a"), []byte("1"))
		tx.ClearRange(model.UserKeys())
		tx.Set([]byte("b"), []byte("1"))
		tx.Set([]byte("b"), []byte("2"))
		tx.Set([]byte("c"), []byte("1"))
		tx.Clear([]byte("c"))
		c.commit(tx)
		c.wantContents("b=2")
	}},
	{"a read started before a write does not see it", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		future := tx.Get([]byte("a"))
		tx.Set([]byte("a"), []byte("2"))
		value, err := future.Get(c.ctx)
		c.wantCode("Get", err, 0)
		c.want("the earlier read", string(value), "1")
		c.want("a later read", c.get(tx, "a"), "2")
	}},
	{"an empty value is not an absent one", func(c *conformance) {
		c.update(func(tx kv.Transaction) {
			tx.Set([]byte("nil"), nil)
			tx.Set([]byte("empty"), []byte{})
		})
		tx := c.begin()
		tx.Set([]byte("own"), nil)
		for key, want := range map[string]string{"nil": "", "empty": "", "own": "", "none": model.Absent} {
			c.want(key, c.get(tx, key), want)
		}
	}},
	{"the empty key is a key", func(c *conformance) {
		c.put("", "root")
		c.want("the value", c.get(c.begin(), ""), "root")
		c.wantContents("=root")
	}},
	{"arguments are copied", func(c *conformance) {
		key, value, end := []byte("a"), []byte("1"), []byte("c")
		tx := c.begin()
		tx.Set(key, value)
		tx.Atomic(kv.ByteMax, []byte("b"), value)
		get := tx.Get(key)
		pairs := tx.GetRange(kv.KeyRange{Begin: key, End: end}.Selectors(), kv.RangeOptions{})
		play.Spoil(key, value, end)
		got, err := get.Get(c.ctx)
		c.wantCode("Get", err, 0)
		c.want("the value", string(got), "1")
		all, err := pairs.Slice(c.ctx)
		c.wantCode("GetRange", err, 0)
		c.want("the range", model.Texts(all), []string{"a=1", "b=1"})
		c.commit(tx)
		c.wantContents("a=1", "b=1")
	}},
	{"snapshot reads can be told not to see own writes", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionSnapshotRYWDisable, 0), 0)
		tx.Set([]byte("a"), []byte("2"))
		c.want("a in the snapshot", c.get(tx.Snapshot(), "a"), "1")
		c.want("a", c.get(tx, "a"), "2")
		c.wantCode("SetOption", tx.SetOption(kv.OptionSnapshotRYWEnable, 0), 0)
		c.want("a in the snapshot again", c.get(tx.Snapshot(), "a"), "2")
	}},
	{"read-your-writes can be disabled", func(c *conformance) {
		c.put("a", "1")
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionReadYourWritesDisable, 0), 0)
		tx.Set([]byte("a"), []byte("2"))
		c.want("a", c.get(tx, "a"), "1")
		c.commit(tx)
		c.wantContents("a=2")
	}},
	{"reads over own writes agree with a model", checkOverlayModel},
}

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
