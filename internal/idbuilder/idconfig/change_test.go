// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

const (
	snowflakeBody = `{"key": "k", "base_ts": %d, "ts_size": %d, "worker_id_size": %d, "seq_size": %d}`
	refused       = false
	allowed       = true
)

// TestCheckChange checks changes between configurations that are not formatted.
func TestCheckChange(t *testing.T) {
	increment := func(body string) *idconfig.Config { return &parse(t, idconfig.TypeIncrement, body).Config }
	snowflake := func(args ...any) *idconfig.Config {
		return &parse(t, idconfig.TypeSnowflake, fmt.Sprintf(snowflakeBody, args...)).Config
	}
	formatted := &parse(t, idconfig.TypeFormatted, `{"key": "k", "pattern": "{SEQ:1}"}`).Config
	up, down := increment(`{"key": "k", "base": 9}`), increment(`{"key": "k", "start": 9, "step": -1}`)
	flake := snowflake(0, 41, 10, 12)
	for _, c := range []struct {
		old, next *idconfig.Config
		param     string // "": allowed
	}{
		{up, up, ""},
		{up, increment(`{"key": "k", "base": 9, "delta": 5, "max_request_delta": 7, "rand_delta": true, "max": 1000, "name": "Orders", "key_token_enable": true}`), ""},
		{up, increment(`{"key": "k", "base": 1}`), ""}, // the caller compares it with the sequence
		{down, increment(`{"key": "k", "start": 9, "step": -3}`), ""},
		{up, down, "delta"},
		{down, up, "delta"},
		{flake, snowflake(0, 41, 10, 12), ""},
		{flake, snowflake(1, 41, 10, 12), "base_ts"},
		{flake, snowflake(0, 42, 10, 11), "base_ts"},
		{flake, snowflake(0, 41, 11, 11), "base_ts"},
		{up, flake, "id_type"},
		{flake, up, "id_type"},
		{up, formatted, "id_type"},
		{formatted, up, "id_type"},
	} {
		deleted := *c.old
		deleted.Deleted = true
		for _, old := range []*idconfig.Config{c.old, &deleted} { // a tombstone remembers
			err := idconfig.CheckChange(old, c.next)
			var change *idconfig.ChangeError
			if (err == nil) != (c.param == "") || err != nil && (!errors.As(err, &change) || change.Param != c.param) {
				t.Errorf("from %+v to %+v: %v, want a fault of %q", old, c.next, err, c.param)
			}
		}
	}
}

// TestFormatChanges checks changes of formats: safe ones, and those after which an ID could
// repeat.
func TestFormatChanges(t *testing.T) {
	number := func(p format.Part) format.Part { p.Type = format.AutoIncrement; return p }
	text := func(value string) format.Part { return format.Part{Type: format.FixedChars, Value: value} }
	date := func(pattern, zone string) format.Part {
		return format.Part{Type: format.DateFormat, Format: pattern, TimeZone: zone}
	}
	random := format.Part{Type: format.FixedRandomChars, CharsScope: "abcdef", Length: 1}
	polling := format.Part{Type: format.FixedPollingChar, CharsScope: "ab"}
	plain, four := number(format.Part{}), number(format.Part{Length: 4, LengthFixed: true})
	daily := number(format.Part{Length: 4, ResetScope: format.ResetDate})
	type parts = []format.Part
	for name, c := range map[string]struct {
		old, next parts
		want      bool
	}{
		"the same":                         {parts{text("A"), four}, parts{text("A"), four}, allowed},
		"defaults written out":             {parts{plain}, parts{number(format.Part{NumberBase: 10, PaddingMode: "prefix", PaddingChar: "0", ResetScope: "none", TimeZone: "Asia/Tokyo"})}, allowed},
		"a zone written out":               {parts{date("yyyyMMdd", "Asia/Tokyo"), daily}, parts{date("yyyyMMdd", "Asia/Tokyo"), number(format.Part{Length: 4, ResetScope: format.ResetDate, TimeZone: "Asia/Tokyo"})}, allowed},
		"one random character":             {parts{random, plain}, parts{{Type: format.FixedRandomChars, CharsScope: "abcdef"}, plain}, allowed},
		"another prefix":                   {parts{text("INV"), plain}, parts{text("ORD"), four}, allowed},
		"another suffix":                   {parts{plain, text("-A")}, parts{plain, text("-B")}, allowed},
		"a longer prefix":                  {parts{text("A"), plain}, parts{text("A1"), plain}, refused},
		"a shorter prefix":                 {parts{text("A1"), plain}, parts{text("A"), plain}, refused},
		"a prefix to none":                 {parts{text("1"), plain}, parts{plain}, refused},
		"a longer suffix":                  {parts{plain, text("0")}, parts{plain, text("00")}, refused},
		"more digits":                      {parts{text("A"), four}, parts{text("A"), number(format.Part{Length: 6, LengthFixed: true})}, allowed},
		"fewer digits":                     {parts{text("A"), four}, parts{text("A"), number(format.Part{Length: 2, LengthFixed: true})}, allowed},
		"digits no longer fixed":           {parts{text("A"), four}, parts{text("A"), plain}, allowed},
		"more digits of a date":            {parts{date("yyyyMMdd", ""), daily}, parts{date("yyyyMMdd", ""), number(format.Part{Length: 5, ResetScope: format.ResetDate})}, allowed},
		"digits after a date that varies":  {parts{date("d", ""), four}, parts{date("d", ""), number(format.Part{Length: 5, LengthFixed: true})}, refused},
		"another base":                     {parts{plain}, parts{number(format.Part{NumberBase: 16})}, refused},
		"another padding":                  {parts{number(format.Part{Length: 4, PaddingChar: "x"})}, parts{number(format.Part{Length: 5, PaddingChar: "x"})}, refused},
		"padding after it":                 {parts{four}, parts{number(format.Part{Length: 4, PaddingMode: "suffix", PaddingChar: "-"})}, refused},
		"begins to reset":                  {parts{date("yyyyMMdd", ""), plain}, parts{date("yyyyMMdd", ""), daily}, refused},
		"another zone":                     {parts{date("yyyyMMdd", ""), daily}, parts{date("yyyyMMdd", "Asia/Tokyo"), daily}, refused},
		"another date":                     {parts{date("yyyyMMdd", ""), daily}, parts{date("yyyyddMM", ""), daily}, refused},
		"a counter before it":              {parts{plain, random}, parts{polling, plain, random}, refused},
		"digits next to a counter":         {parts{polling, four}, parts{polling, plain}, allowed},
		"digits of two numbers":            {parts{four, text("-"), four}, parts{plain, text("-"), plain}, allowed},
		"digits that run into one another": {parts{four, four}, parts{four, number(format.Part{Length: 5, LengthFixed: true})}, refused},
		"the zone of a date":               {parts{date("yyyyMMdd", ""), plain}, parts{date("yyyyMMdd", "Asia/Tokyo"), plain}, refused},
		"random parts alone":               {parts{random, random}, parts{random, random, random}, refused},
		"characters of a set":              {parts{polling, plain}, parts{{Type: format.FixedPollingChar, CharsScope: "ba"}, plain}, refused},
	} {
		old, next := formattedConfig(t, c.old), formattedConfig(t, c.next)
		if err := idconfig.CheckChange(old, next); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func formattedConfig(t *testing.T, parts []format.Part) *idconfig.Config {
	t.Helper()
	f, err := format.Compile(parts)
	if err != nil {
		t.Fatalf("%+v: %v", parts, err)
	}
	return &idconfig.Config{Key: "k", Type: idconfig.TypeFormatted, Formatted: &idconfig.FormattedConfig{Parts: parts, Format: f}}
}

// TestChangesRemember: INV-10 in decimal, then ORD-…, then INV-16 in hexadecimal, which is
// INV-10: each change alone is safe, the two are not. The earlier formats are stored with the
// key, even when it is deleted.
func TestChangesRemember(t *testing.T) {
	decimal := formattedConfig(t, []format.Part{{Type: format.FixedChars, Value: "INV-"}, {Type: format.AutoIncrement}})
	orders := formattedConfig(t, []format.Part{{Type: format.FixedChars, Value: "ORD-"}, {Type: format.AutoIncrement}})
	hex := formattedConfig(t, []format.Part{{Type: format.FixedChars, Value: "INV-"}, {Type: format.AutoIncrement, NumberBase: 16}})
	if err := idconfig.CheckChange(decimal, orders); err != nil {
		t.Fatal(err)
	}
	if err := idconfig.CheckChange(orders, hex); err != nil {
		t.Fatal("a key that never was decimal:", err)
	}
	orders.Succeed(decimal)
	orders.Deleted = true
	stored := reread(t, orders)
	var change *idconfig.ChangeError
	if err := idconfig.CheckChange(stored, hex); !errors.As(err, &change) || change.Param != "parts" {
		t.Errorf("the error is %v", err)
	}
	if err := idconfig.CheckChange(stored, decimal); err != nil {
		t.Error("back to the first, which continues its numbers:", err)
	}
	if len(decimal.Formatted.Earlier) != 0 {
		t.Error("Succeed has changed the old configuration")
	}
	decimal.Succeed(stored)
	if n := len(decimal.Formatted.Earlier); n != 1 {
		t.Errorf("%d formats are remembered, want the one of orders", n)
	}
}

func reread(t *testing.T, c *idconfig.Config) *idconfig.Config {
	t.Helper()
	value, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := idconfig.Decode(store.Document{Key: c.Key, Type: string(c.Type), Value: value})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestManyFormats: the number of earlier formats is bounded.
func TestManyFormats(t *testing.T) {
	c := formattedConfig(t, []format.Part{{Type: format.AutoIncrement}, {Type: format.FixedChars, Value: "-a00"}})
	for i := range 100 {
		next := formattedConfig(t, []format.Part{{Type: format.AutoIncrement}, {Type: format.FixedChars, Value: fmt.Sprintf("-b%02d", i)}})
		err := idconfig.CheckChange(c, next)
		if i >= 32 {
			if err == nil {
				t.Fatalf("the change %d is allowed", i)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		next.Succeed(c)
		c = next
	}
	if value, err := c.Encode(); err != nil || len(value) > store.MaxValue {
		t.Errorf("%d bytes, %v", len(value), err)
	}
	first := formattedConfig(t, []format.Part{{Type: format.AutoIncrement}, {Type: format.FixedChars, Value: "-a00"}})
	if err := idconfig.CheckChange(c, first); err != nil {
		t.Error("back to a format that the key had:", err)
	}
}

// TestRewinds: a base before the sequence's value rewinds it, a base after it advances it, in
// either direction. A request that repeats the base, or in the deployed dialect the first ID,
// does neither.
func TestRewinds(t *testing.T) {
	const rewinds, advances, stays = -1, 1, 0
	for _, c := range []struct {
		old, next string
		value     int64
		want      int
	}{
		{`{"key": "k", "base": 1000}`, `{"key": "k", "base": 1000}`, 1500, stays},
		{`{"key": "k", "base": 1000}`, `{"key": "k", "base": 1000, "delta": 7}`, 1500, stays},
		{`{"key": "k", "base": 1000}`, `{"key": "k", "base": 1499}`, 1500, rewinds},
		{`{"key": "k", "base": 1000}`, `{"key": "k", "base": 1500}`, 1500, stays},
		{`{"key": "k", "base": 1000}`, `{"key": "k", "base": 1501}`, 1500, advances},
		{`{"key": "k", "base": 1000}`, `{"key": "k", "base": 10, "delta": 990}`, 1500, rewinds},
		{`{"name": "k", "start": 1}`, `{"name": "k", "start": 1, "step": 5, "force": true}`, 1500, stays},
		{`{"name": "k", "start": 1}`, `{"name": "k", "start": 2, "step": 5, "force": true}`, 1500, rewinds},
		{`{"key": "k", "start": 100, "step": -1}`, `{"key": "k", "start": 100, "step": -5}`, 50, stays},
		{`{"key": "k", "start": 100, "step": -1}`, `{"key": "k", "start": 99, "step": -1}`, 50, rewinds},
		{`{"key": "k", "start": 100, "step": -1}`, `{"key": "k", "start": 51, "step": -1}`, 50, rewinds},
		{`{"key": "k", "start": 100, "step": -1}`, `{"key": "k", "start": 50, "step": -1}`, 50, rewinds},
		{`{"key": "k", "start": 100, "step": -1}`, `{"key": "k", "start": 49, "step": -1}`, 50, stays},
		{`{"key": "k", "start": 100, "step": -1}`, `{"key": "k", "start": 48, "step": -1}`, 50, advances},
	} {
		old, next := parse(t, idconfig.TypeIncrement, c.old).Increment, parse(t, idconfig.TypeIncrement, c.next).Increment
		if next.Rewinds(old, c.value) != (c.want == rewinds) || next.Advances(old, c.value) != (c.want == advances) {
			t.Errorf("from %s to %s at %d: rewinds %v, advances %v", c.old, c.next, c.value, next.Rewinds(old, c.value), next.Advances(old, c.value))
		}
	}
}

// TestFormatsOutliveTypes: a new format is compared with all earlier ones even after a forced
// change to another type and back.
func TestFormatsOutliveTypes(t *testing.T) {
	config := func(key, value, extra string) *idconfig.Config {
		r, err := idconfig.Parse(idconfig.TypeFormatted, []byte(`{"key": "`+key+`", "parts": [{"type": "fixed-chars", "value": "`+value+`"}, {"type": "auto-increment"`+extra+`}]}`), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return &r.Config
	}
	r, err := idconfig.Parse(idconfig.TypeIncrement, []byte(`{"key": "k", "base": 0}`), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	chain := []*idconfig.Config{config("k", "INV-", ""), &r.Config, config("k", "ORD-", "")}
	for i, next := range chain[1:] {
		next.Succeed(chain[i])
		value, err := next.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if chain[i+1], err = idconfig.Decode(store.Document{Key: "k", Type: string(next.Type), Value: value, Version: int64(i + 2)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := idconfig.CheckChange(chain[2], config("k", "INV-", `, "number_base": 16`)); err == nil {
		t.Error("a format is allowed though the key may have given its IDs before it had another type")
	}
	if err := idconfig.CheckChange(chain[2], config("k", "INV-", "")); err != nil {
		t.Error(err)
	}
}

// TestEpoch: the epoch changes with each change that may have moved the sequence back, and
// with no other.
func TestEpoch(t *testing.T) {
	c := &idconfig.Config{Key: "k", Type: idconfig.TypeIncrement, Increment: &idconfig.Increment{Base: 0, Delta: 1}}
	for i, step := range []struct {
		base, delta int64
		moves       bool
	}{{0, 1, false}, {0, 5, false}, {7, 5, true}, {6, 6, false}, {7, 5, false}, {7, -5, true}, {7, 5, true}, {0, 5, true}} {
		c.Version = int64(i + 1)
		next := &idconfig.Config{Key: "k", Type: idconfig.TypeIncrement, Increment: &idconfig.Increment{Base: step.base, Delta: step.delta}}
		next.Succeed(c)
		if moved := next.Increment.Epoch != c.Increment.Epoch; moved != step.moves {
			t.Errorf("step %d: from %+v to %+v", i, *c.Increment, *next.Increment)
		}
		c = next
	}
}
