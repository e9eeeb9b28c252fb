// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// specified has the structures of config_json in the specification, word by word, and
// requests that make them.
var specified = []struct {
	kind       idconfig.Type
	body, json string
}{
	{
		idconfig.TypeIncrement,
		`{"key": "k", "base": 1000, "delta": 1, "max_request_delta": 100, "rand_delta": false}`,
		`{"base": 1000, "delta": 1, "max_request_delta": 100, "rand_delta": false}`,
	},
	{
		idconfig.TypeSnowflake,
		`{"key": "k", "skip_size": 1, "base_ts": 1673606841000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`,
		`{"skip_size": 1, "base_ts": 1673606841000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`,
	},
	{
		idconfig.TypeFormatted,
		`{"key": "k", "parts": [{"type": "fixed-chars", "value": "INV"}, {"type": "date-format", "format": "yyyyMMdd"},
			{"type": "auto-increment", "length": 4, "reset_scope": "date"}]}`,
		`{"parts": [{"type": "fixed-chars", "value": "INV"}, {"type": "date-format", "format": "yyyyMMdd"},
			{"type": "auto-increment", "length": 4, "reset_scope": "date"}]}`,
	},
}

// TestSpecifiedJSON: the stored JSON has exactly the specification's members. It can be read,
// even if another program wrote it.
func TestSpecifiedJSON(t *testing.T) {
	for _, s := range specified {
		c := &parse(t, s.kind, s.body).Config
		value, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object(t, s.json), object(t, string(value))); diff != "" {
			t.Errorf("%s: %s", s.kind, diff)
		}
		d, err := idconfig.Decode(store.Document{Key: "k", Type: string(s.kind), Value: []byte(s.json)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, d, cmpopts.IgnoreUnexported(format.Format{})); diff != "" {
			t.Errorf("%s: %s", s.kind, diff)
		}
	}
}

func object(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStoredMembers: members that the specification does not list are stored only if they are
// set.
func TestStoredMembers(t *testing.T) {
	for body, want := range map[string]string{
		`{"key": "k", "name": "Orders", "base": 9, "delta": 5, "rand_delta": true, "key_token_enable": true, "min": 0, "max": 99}`: `{
			"name": "Orders", "key_token_enable": true, "base": 9, "delta": 5, "max_request_delta": 100, "rand_delta": true, "min": 0, "max": 99}`,
		`{"name": "k", "start": 9, "step": -1, "min": -9}`: `{"base": 10, "delta": -1, "max_request_delta": 100, "rand_delta": false, "min": -9}`,
	} {
		value, err := parse(t, idconfig.TypeIncrement, body).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object(t, want), object(t, string(value))); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

// TestUnknownMembers: a change and a deletion by a program that does not know all members of a
// document keep them, as they are; also of another type.
func TestUnknownMembers(t *testing.T) {
	const more = `"owner": "a & b", "quota": {"day": [1, 2.50, null]}`
	for _, s := range specified {
		old, err := idconfig.Decode(store.Document{Key: "k", Type: string(s.kind), Value: []byte(s.json[:len(s.json)-1] + ", " + more + "}"), Version: 7})
		if err != nil {
			t.Fatal(err)
		}
		deleted := *old
		deleted.Deleted = true
		changed := []*idconfig.Config{&deleted}
		for _, next := range specified {
			c := &parse(t, next.kind, next.body).Config
			c.Succeed(old)
			changed = append(changed, c)
		}
		for _, c := range changed {
			value, err := c.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, want := object(t, string(value)), object(t, "{"+more+"}")
			for name := range want {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s, changed to %s: the member %s (-want +got):\n%s", s.kind, c.Type, name, diff)
				}
			}
			again, err := idconfig.Decode(store.Document{Key: "k", Type: string(c.Type), Value: value})
			if err != nil || len(again.Unknown) != len(want) {
				t.Errorf("%s, changed to %s: %s is read as %v, %v", s.kind, c.Type, value, again, err)
			}
		}
	}
}

// TestNewerConfig: what would change the IDs and is not known is refused, and not called damage.
func TestNewerConfig(t *testing.T) {
	for value, want := range map[string]string{
		`{"needs": ["check-digits v0.3.0"], "parts": [{"type": "fixed-random-chars"}]}`:                             "it needs check-digits, which this program does not know: run version v0.3.0 or later",
		`{"parts": [{"type": "auto-increment", "check_digit": "luhn"}]}`:                                            `the member "check_digit"`,
		`{"parts": [{"type": "auto-increment"}], "earlier": [[{"type": "auto-increment", "check_digit": "luhn"}]]}`: `the member "check_digit"`,
		`{"parts": [{"type": "auto-increment"}], "formats": [[{"type": "auto-increment", "check_digit": "luhn"}]]}`: `the member "check_digit"`,
	} {
		_, err := idconfig.Decode(store.Document{Key: "k", Type: "formatted", Value: []byte(value)})
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `configuration "k"`) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}

// TestRoundTrip encodes and decodes random configurations.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyConfig(rt)
		value, err := c.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		d := store.Document{Key: c.Key, Type: string(c.Type), Value: value, Version: c.Version, Created: c.Created, Updated: c.Updated}
		got, err := idconfig.Decode(d)
		if err != nil {
			rt.Fatalf("%s: %v", value, err)
		}
		if diff := cmp.Diff(c, got, cmpopts.IgnoreUnexported(format.Format{}), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%s: %s", value, diff)
		}
	})
}

func anyConfig(rt *rapid.T) *idconfig.Config {
	when := rapid.Custom(func(rt *rapid.T) time.Time { return time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(rt, "ms")).UTC() })
	c := &idconfig.Config{
		Key: "k", Name: rapid.StringN(0, 20, 80).Draw(rt, "name"), KeyTokenOnly: rapid.Bool().Draw(rt, "only"), Deleted: rapid.Bool().Draw(rt, "deleted"),
		Version: rapid.Int64Min(1).Draw(rt, "version"), Created: when.Draw(rt, "created"), Updated: when.Draw(rt, "updated"),
	}
	switch c.Type = rapid.SampledFrom([]idconfig.Type{idconfig.TypeIncrement, idconfig.TypeSnowflake, idconfig.TypeFormatted}).Draw(rt, "type"); c.Type {
	case idconfig.TypeIncrement:
		delta := rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Filter(func(n int64) bool { return n != 0 }).Draw(rt, "delta")
		c.Increment = &idconfig.Increment{
			Base: rapid.Int64().Draw(rt, "base"), Delta: delta, MaxRequestDelta: rapid.Int64Range(max(delta, -delta), math.MaxInt64).Draw(rt, "most"),
			RandDelta: rapid.Bool().Draw(rt, "rand"), Min: rapid.Int64().Draw(rt, "min"), Max: rapid.Int64().Draw(rt, "max"),
		}
	case idconfig.TypeSnowflake:
		worker, seq := rapid.IntRange(1, 11).Draw(rt, "worker"), rapid.IntRange(1, 11).Draw(rt, "seq")
		skip := rapid.IntRange(0, 8).Draw(rt, "skip")
		c.Snowflake = &idconfig.Snowflake{SkipSize: skip, BaseTS: rapid.Int64Min(0).Draw(rt, "base"), TSSize: 64 - skip - worker - seq, WorkerIDSize: worker, SeqSize: seq}
	case idconfig.TypeFormatted:
		c.Formatted = anyFormat(rt, "parts")
		c.Formatted.Pattern, c.Formatted.SequenceReset = rapid.String().Draw(rt, "pattern"), rapid.SampledFrom([]string{"", "daily"}).Draw(rt, "reset")
		c.Formatted.Earlier = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) []format.Part { return anyFormat(rt, "earlier").Parts }), 0, 3).Draw(rt, "earlier")
	}
	return c
}

// TestDecodeRefuses: for a document that this program did not write, the error names the key.
func TestDecodeRefuses(t *testing.T) {
	for value, kind := range map[string]idconfig.Type{
		`{}`: idconfig.TypeIncrement, `{"base": 1}`: idconfig.TypeIncrement, `null`: idconfig.TypeIncrement, `[]`: idconfig.TypeIncrement,
		`{"base": 1, "delta": 0, "max_request_delta": 1}`:                    idconfig.TypeIncrement,
		`{"base": 1, "delta": -9223372036854775808, "max_request_delta": 1}`: idconfig.TypeIncrement,
		`{"base": 1, "delta": -2, "max_request_delta": 1}`:                   idconfig.TypeIncrement,
		`{"base": "1"`: idconfig.TypeIncrement, `{"base": 1.5, "delta": 1, "max_request_delta": 1}`: idconfig.TypeIncrement,
		`{"delta": 1, "max_request_delta": 100}`: idconfig.TypeIncrement,
		`{"skip_size": 1}`:                       idconfig.TypeSnowflake, `{ }`: idconfig.TypeSnowflake, `{"ts_size": "x"}`: idconfig.TypeSnowflake,
		`{"skip_size": 1, "ts_size": 41, "worker_id_size": 10, "seq_size": 13}`: idconfig.TypeSnowflake,
		`{"parts": []}`: idconfig.TypeFormatted, `{"parts": [{"type": "fixed-chars"}]}`: idconfig.TypeFormatted, `{"parts": 1}`: idconfig.TypeFormatted,
		`{"base": 1, "delta": 1, "max_request_delta": 1}`: "uuid",
	} {
		c, err := idconfig.Decode(store.Document{Key: "orders", Type: string(kind), Value: []byte(value)})
		var corrupt *store.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Where != `configuration "orders"` {
			t.Errorf("%s as %s: %+v, %v", value, kind, c, err)
		}
	}
	if _, err := (&idconfig.Config{Type: "uuid"}).Encode(); err == nil {
		t.Error("a configuration of an unknown type is encoded")
	}
}

// TestReservation: an increment's numbers begin after the base, and end with the
// bound in the direction of the delta.
func TestReservation(t *testing.T) {
	for body, want := range map[string]store.Reservation{
		`{"key": "k", "base": 1000, "delta": 5, "max": 2000}`:  {Start: 1000, Step: 5, Count: 7, Bound: 2000},
		`{"name": "k", "start": 9, "step": -2, "min": 3}`:      {Start: 11, Step: -2, Count: 7, Bound: 3},
		`{"key": "k", "base": 0}`:                              {Start: 0, Step: 1, Count: 7, Bound: math.MaxInt64},
		`{"key": "k", "start": 0, "step": -1, "max": 1000000}`: {Start: 1, Step: -1, Count: 7, Bound: math.MinInt64},
	} {
		if got := parse(t, idconfig.TypeIncrement, body).Increment.Reservation(7); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}
