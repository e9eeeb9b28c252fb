// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// wideNumbers do not fit into 32 bits, or only just.
var wideNumbers = []int{1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 62}

var selectorLaws = []law{
	{"every selector finds its key", func(c *conformance) {
		c.put("a", "", "c", "", "e", "")
		b, k := []byte("b"), []byte("c")
		for _, tt := range []struct {
			sel  kv.KeySelector
			want string
		}{
			{kv.LastLessThan(k), "a"},
			{kv.LastLessOrEqual(k), "c"},
			{kv.FirstGreaterOrEqual(k), "c"},
			{kv.FirstGreaterThan(k), "e"},
			{kv.LastLessThan(b), "a"},
			{kv.LastLessOrEqual(b), "a"},
			{kv.FirstGreaterOrEqual(b), "c"},
			{kv.FirstGreaterThan(b), "c"},
			{kv.FirstGreaterOrEqual(b).Add(1), "e"},
			{kv.LastLessThan([]byte("z")).Add(-2), "a"},
			{kv.FirstGreaterOrEqual(nil), "a"},
			{kv.LastLessThan([]byte("\xff")), "e"},
			{kv.LastLessThan([]byte("a")), ""},
			{kv.LastLessThan(k).Add(-5), ""},
			{kv.FirstGreaterThan([]byte("e")), "\xff"},
			{kv.FirstGreaterThan(k).Add(5), "\xff"},
		} {
			key, err := c.begin().GetKey(tt.sel).Get(c.ctx)
			c.wantCode(tt.sel.String(), err, 0)
			c.want(tt.sel.String(), string(key), tt.want)
		}
	}},
	{"offsets of more than 32 bits select the ends", func(c *conformance) {
		c.put("a", "", "c", "", "e", "")
		for _, far := range wideNumbers {
			for _, tt := range []struct {
				sel  kv.KeySelector
				want string
			}{
				{kv.FirstGreaterOrEqual([]byte("a")).Add(far), "\xff"},
				{kv.LastLessThan([]byte("z")).Add(-far), ""},
			} {
				key, err := c.begin().GetKey(tt.sel).Get(c.ctx)
				c.wantCode(tt.sel.String(), err, 0)
				c.want(tt.sel.String(), string(key), tt.want)
			}
			r := kv.SelectorRange{Begin: kv.LastLessThan([]byte("z")).Add(-far), End: kv.FirstGreaterOrEqual([]byte("d"))}
			c.want(r.Begin.String(), c.scan(c.begin(), r, kv.RangeOptions{}), []string{"a=", "c="})
		}
	}},
	{"selectors see own writes", func(c *conformance) {
		c.put("a", "", "c", "", "e", "")
		tx := c.begin()
		tx.Clear([]byte("c"))
		tx.Set([]byte("d"), nil)
		for sel, want := range map[string]string{"a": "d", "d": "e", "e": "\xff"} {
			key, err := tx.GetKey(kv.FirstGreaterThan([]byte(sel))).Get(c.ctx)
			c.wantCode("GetKey", err, 0)
			c.want("the key after "+sel, string(key), want)
		}
	}},
}

var rangeLaws = []law{
	{"a range is the keys from begin to before end", func(c *conformance) {
		c.put("a", "1", "b", "2", "c", "3")
		tx := c.begin()
		for _, tt := range []struct {
			from, to string
			want     []string
		}{
			{"a", "c", []string{"a=1", "b=2"}},
			{"", "\xff", []string{"a=1", "b=2", "c=3"}},
			{"a\x00", "c\x00", []string{"b=2", "c=3"}},
			{"b", "b", []string{}},
			{"x", "z", []string{}},
		} {
			c.want(tt.from+" to "+tt.to, c.scan(tx, model.Span(tt.from, tt.to).Selectors(), kv.RangeOptions{}), tt.want)
		}
	}},
	{"selectors move the ends of a range", func(c *conformance) {
		c.put("a", "", "b", "", "c", "", "d", "")
		r := kv.SelectorRange{Begin: kv.FirstGreaterThan([]byte("a")), End: kv.LastLessThan([]byte("z"))}
		c.want("after a to the last", c.scan(c.begin(), r, kv.RangeOptions{}), []string{"b=", "c="})
		crossed := kv.SelectorRange{Begin: kv.LastLessThan([]byte("z")), End: kv.FirstGreaterOrEqual([]byte("b")).Add(-1)}
		c.want("ends that cross", c.scan(c.begin(), crossed, kv.RangeOptions{}), []string{})
	}},
	{"modes, limits and directions give the same pairs", checkRangeOptions},
	{"limits of more than 32 bits are limits", func(c *conformance) {
		all := fillRange(c, 3)
		for _, limit := range wideNumbers {
			for _, mode := range []kv.StreamingMode{kv.ModeIterator, kv.ModeExact} {
				got := c.scan(c.begin(), model.UserKeys().Selectors(), kv.RangeOptions{Limit: limit, Mode: mode})
				c.want(fmt.Sprintf("limit %d, mode %d", limit, mode), got, all)
			}
			_, err := c.begin().GetRange(model.UserKeys().Selectors(), kv.RangeOptions{Limit: -limit}).Slice(c.ctx)
			c.wantCode(fmt.Sprintf("limit %d", -limit), err, kv.CodeRangeLimitsInvalid)
		}
	}},
	{"batches come in order and without gaps", func(c *conformance) {
		all := fillRange(c, 400)
		var got []string
		for batch, err := range c.begin().GetRange(model.UserKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeSmall}).Batches(c.ctx) {
			c.wantCode("Batches", err, 0)
			got = append(got, model.Texts(batch.KVs)...)
		}
		if !slices.Equal(got, all) {
			c.Errorf("got %d pairs, want %d in order", len(got), len(all))
		}
	}},
	{"a read may stop early", func(c *conformance) {
		fillRange(c, 300)
		count := 0
		for _, err := range c.begin().GetRange(model.UserKeys().Selectors(), kv.RangeOptions{}).All(c.ctx) {
			c.wantCode("All", err, 0)
			if count++; count == 3 {
				break
			}
		}
		c.want("pairs seen", count, 3)
	}},
	{"a read that goes on sees writes made meanwhile", func(c *conformance) {
		fillRange(c, 300)
		tx := c.begin()
		last := ""
		for pair, err := range tx.GetRange(model.UserKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeSmall}).All(c.ctx) {
			c.wantCode("All", err, 0)
			if last == "" {
				tx.Set([]byte("zzz"), []byte("own"))
			}
			last = string(pair.Key)
		}
		c.want("the last key", last, "zzz")
	}},
	{"a large value comes whole", func(c *conformance) {
		value := slices.Repeat([]byte("v"), kv.MaxValueSize)
		c.put("a", string(value), "b", string(value))
		pairs, err := c.begin().GetRange(model.UserKeys().Selectors(), kv.RangeOptions{}).Slice(c.ctx)
		c.wantCode("Slice", err, 0)
		if len(pairs) != 2 || len(pairs[0].Value) != kv.MaxValueSize || len(pairs[1].Value) != kv.MaxValueSize {
			c.Errorf("got %d pairs, not the two of %d bytes", len(pairs), kv.MaxValueSize)
		}
	}},
	{"illegal ranges are refused", func(c *conformance) {
		for _, tt := range []struct {
			name    string
			r       kv.KeyRange
			options kv.RangeOptions
			want    kv.Code
		}{
			{"negative limit", model.UserKeys(), kv.RangeOptions{Limit: -2}, kv.CodeRangeLimitsInvalid},
			{"exact without limit", model.UserKeys(), kv.RangeOptions{Mode: kv.ModeExact}, kv.CodeExactModeWithoutLimits},
			{"end beyond the legal keys", model.Span("a", "\xff\xff"), kv.RangeOptions{}, kv.CodeKeyOutsideLegalRange},
		} {
			_, err := c.begin().GetRange(tt.r.Selectors(), tt.options).Slice(c.ctx)
			c.wantCode(tt.name, err, tt.want)
		}
	}},
}

// fillRange writes n pairs and returns them as scan would.
func fillRange(c *conformance, n int) []string {
	c.Helper()
	var texts, pairs []string
	for i := range n {
		key, value := fmt.Sprintf("k%05d", i), fmt.Sprint(i*7)
		pairs = append(pairs, key, value)
		texts = append(texts, key+"="+value)
	}
	c.put(pairs...)
	return texts
}

// checkRangeOptions reads the same range in every way and compares with a
// slice of what was written.
func checkRangeOptions(c *conformance) {
	all := fillRange(c, 250)
	backward := slices.Clone(all)
	slices.Reverse(backward)
	modes := []kv.StreamingMode{kv.ModeIterator, kv.ModeWantAll, kv.ModeExact, kv.ModeSmall, kv.ModeMedium, kv.ModeLarge, kv.ModeSerial}
	for _, mode := range modes {
		tx := c.begin() // one for each mode: under a slow wrapper all would take longer than a transaction may
		for _, limit := range []int{0, 1, 2, 99, 250, 1000} {
			for _, reverse := range []bool{false, true} {
				if limit == 0 && mode == kv.ModeExact {
					continue
				}
				want := all
				if reverse {
					want = backward
				}
				if limit > 0 {
					want = want[:min(limit, len(want))]
				}
				o := kv.RangeOptions{Limit: limit, Reverse: reverse, Mode: mode}
				if got := c.scan(tx, model.UserKeys().Selectors(), o); !slices.Equal(got, want) {
					c.Errorf("%+v: got %d pairs that are not the %d wanted", o, len(got), len(want))
				}
			}
		}
	}
}
