// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

var now = time.Date(2026, 11, 22, 10, 20, 30, 0, time.UTC)

func parse(t *testing.T, kind idconfig.Type, body string) *idconfig.Request {
	t.Helper()
	r, err := idconfig.Parse(kind, []byte(body), now)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return r
}

// TestParseShared: the parameters that all types have.
func TestParseShared(t *testing.T) {
	for body, want := range map[string]idconfig.Request{
		`{"key": "k", "base": 0}`:                                          {Config: idconfig.Config{Key: "k"}},
		`{"key": "k", "name": "Orders", "base": 0}`:                        {Config: idconfig.Config{Key: "k", Name: "Orders"}},
		`{"key": "k", "name": null, "base": 0, "delta": null}`:             {Config: idconfig.Config{Key: "k"}},
		`{"key": "k", "base": 0, "force": true, "key_token_enable": true}`: {Config: idconfig.Config{Key: "k", KeyTokenOnly: true}, Force: true},
		`{"name": "k"}`:                                    {Config: idconfig.Config{Key: "k"}, CreateOnly: true},
		`{"name": "k", "force": true}`:                     {Config: idconfig.Config{Key: "k"}, Force: true},
		` {"name": "k", "key_token_enable": true} ` + "\n": {Config: idconfig.Config{Key: "k", KeyTokenOnly: true}, CreateOnly: true},
		`{"key": "k", "base": 0, "name": "` + strings.Repeat("é", 127) + `é"}`:     {},
		`{"key": "k", "base": 0, "name": "` + strings.Repeat("n", 255) + `"}`:      {Config: idconfig.Config{Key: "k", Name: strings.Repeat("n", 255)}},
		`{"key": "k", "base": 0, "name": "a\nb"}`:                                  {},
		`{"key": "\u006b", "base": 0, "name": "` + strings.Repeat("n", 256) + `"}`: {},
	} {
		r, err := idconfig.Parse(idconfig.TypeIncrement, []byte(body), now)
		if want.Key == "" {
			hasFault(t, body, err, "name: ")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		want.Type, r.Increment = idconfig.TypeIncrement, nil
		if diff := cmp.Diff(want, *r); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

// TestParseIncrement has the parameters of increment IDs in both dialects, with their
// defaults and their bounds.
func TestParseIncrement(t *testing.T) {
	const low, high = math.MinInt64, math.MaxInt64
	for body, want := range map[string]idconfig.Increment{
		// The specification: base 1000 gives 1001 first.
		`{"key": "k", "base": 1000}`: {Base: 1000, Delta: 1, MaxRequestDelta: 100, Min: low, Max: high},
		`{"key": "k", "base": 1000, "delta": 5, "max_request_delta": 7, "rand_delta": true}`: {
			Base: 1000, Delta: 5, MaxRequestDelta: 7, RandDelta: true, Min: low, Max: high,
		},
		`{"key": "k", "base": 0, "delta": 100}`:                             {Delta: 100, MaxRequestDelta: 100, Min: low, Max: high},
		`{"key": "k", "base": 0, "delta": 101}`:                             {Delta: 101, MaxRequestDelta: 101, Min: low, Max: high},
		`{"key": "k", "base": 0, "delta": 9, "max_request_delta": 9}`:       {Delta: 9, MaxRequestDelta: 9, Min: low, Max: high},
		`{"key": "k", "base": -9223372036854775808}`:                        {Base: low, Delta: 1, MaxRequestDelta: 100, Min: low, Max: high},
		`{"key": "k", "base": 9223372036854775806}`:                         {Base: high - 1, Delta: 1, MaxRequestDelta: 100, Min: low, Max: high},
		`{"key": "k", "base": 0, "delta": 9223372036854775807}`:             {Delta: high, MaxRequestDelta: high, Min: low, Max: high},
		`{"key": "k", "base": 0, "max_request_delta": 9223372036854775807}`: {Delta: 1, MaxRequestDelta: high, Min: low, Max: high},
		`{"key": "k", "base": 9, "min": 10, "max": 10}`:                     {Base: 9, Delta: 1, MaxRequestDelta: 100, Min: 10, Max: 10},
		`{"key": "k", "start": 100, "step": -1}`:                            {Base: 101, Delta: -1, MaxRequestDelta: 100, Min: low, Max: high},
		`{"key": "k", "base": 100, "step": -200}`:                           {Base: 100, Delta: -200, MaxRequestDelta: 200, Min: low, Max: high},
		`{"key": "k", "base": 0, "step": -9223372036854775807}`:             {Delta: -high, MaxRequestDelta: high, Min: low, Max: high},
		`{"key": "k", "start": -9223372036854775807, "step": 1}`:            {Base: low, Delta: 1, MaxRequestDelta: 100, Min: low, Max: high},
		// The deployed worker: start is the first ID, and min is 1 by default.
		`{"name": "k"}`:                                          {Base: 0, Delta: 1, MaxRequestDelta: 100, Min: 1, Max: high},
		`{"name": "k", "start": 1000}`:                           {Base: 999, Delta: 1, MaxRequestDelta: 100, Min: 1, Max: high},
		`{"name": "k", "start": 7, "step": 7}`:                   {Base: 0, Delta: 7, MaxRequestDelta: 100, Min: 1, Max: high},
		`{"name": "k", "start": 100, "step": -1, "max": 100}`:    {Base: 101, Delta: -1, MaxRequestDelta: 100, Min: 1, Max: 100},
		`{"name": "k", "start": 0, "step": 2, "min": 0}`:         {Base: -2, Delta: 2, MaxRequestDelta: 100, Min: 0, Max: high},
		`{"name": "k", "start": 5, "min": 5, "max": 5}`:          {Base: 4, Delta: 1, MaxRequestDelta: 100, Min: 5, Max: 5},
		`{"name": "k", "base": 1000, "delta": 2}`:                {Base: 1000, Delta: 2, MaxRequestDelta: 100, Min: 1, Max: high},
		`{"name": "k", "start": 1, "step": 9223372036854775807}`: {Base: 1 - high, Delta: high, MaxRequestDelta: high, Min: 1, Max: high},
	} {
		got := parse(t, idconfig.TypeIncrement, body).Increment
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

// TestParseSnowflake has the parameters of snowflake IDs in both dialects.
func TestParseSnowflake(t *testing.T) {
	const base = 1_673_606_841_000
	for body, want := range map[string]idconfig.Snowflake{
		`{"key": "k", "base_ts": 1673606841000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`:                 {1, base, 41, 10, 12},
		`{"key": "k", "skip_size": 0, "base_ts": 1673606841000, "ts_size": 42, "worker_id_size": 10, "seq_size": 12}`: {0, base, 42, 10, 12},
		`{"key": "k", "skip_size": 21, "base_ts": 1673606841000, "ts_size": 41, "worker_id_size": 1, "seq_size": 1}`:  {21, base, 41, 1, 1},
		`{"key": "k", "skip_size": 0, "base_ts": 0, "ts_size": 62, "worker_id_size": 1, "seq_size": 1}`:               {0, 0, 62, 1, 1},
		`{"key": "k", "base_ts": 1795342830000, "ts_size": 41, "worker_id_size": 21, "seq_size": 1}`:                  {1, 1795342830000, 41, 21, 1},
		`{"key": "k", "skip_size": 0, "base_ts": 1791047862705, "ts_size": 32, "worker_id_size": 21, "seq_size": 11}`: {0, 1791047862705, 32, 21, 11},
		`{"key": "k", "epoch": 1673606841000, "worker_bits": 10, "sequence_bits": 12}`:                                {1, base, 41, 10, 12},
		`{"key": "k", "skip_size": 30, "base_ts": 1795342830000, "ts_size": 32, "worker_id_size": 1, "seq_size": 1}`:  {30, 1795342830000, 32, 1, 1},
		`{"key": "k", "base_ts": 1795342830000, "ts_size": 32, "worker_id_size": 1, "seq_size": 30}`:                  {1, 1795342830000, 32, 1, 30},
		`{"name": "k"}`: {1, 1_704_067_200_000, 41, 10, 12},
		`{"name": "k", "epoch": 1673606841000, "worker_bits": 5, "sequence_bits": 5}`:  {13, base, 41, 5, 5},
		`{"name": "k", "worker_bits": 1, "sequence_bits": 1}`:                          {21, 1_704_067_200_000, 41, 1, 1},
		`{"name": "k", "worker_bits": 21, "sequence_bits": 1}`:                         {1, 1_704_067_200_000, 41, 21, 1},
		`{"name": "k", "worker_bits": 1, "sequence_bits": 21}`:                         {1, 1_704_067_200_000, 41, 1, 21},
		`{"name": "k", "ts_size": 42, "skip_size": 0}`:                                 {0, 1_704_067_200_000, 42, 10, 12},
		`{"name": "k", "base_ts": 1673606841000, "worker_id_size": 8, "seq_size": 14}`: {1, base, 41, 8, 14},
	} {
		got := parse(t, idconfig.TypeSnowflake, body).Snowflake
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

// TestParseFormatted has every parameter of every part, and patterns.
func TestParseFormatted(t *testing.T) {
	body := `{"key": "k", "parts": [
		{"type": "fixed-chars", "value": "INV"},
		{"type": "fixed-polling-char", "chars_scope": "ABC"},
		{"type": "fixed-random-chars", "chars_scope": "xyz", "length": 2},
		{"type": "date-format", "format": "yyyyMMdd", "time_zone": "Asia/Tokyo"},
		{"type": "fixed-chars", "value": "/"},
		{"type": "timestamp", "base_ts": 1673606841000},
		{"type": "fixed-chars", "value": "/"},
		{"type": "unix-seconds", "base_unix": 1673606841},
		{"type": "fixed-chars", "value": "/"},
		{"type": "auto-increment", "length": 4, "length_fixed": true, "padding_mode": "suffix", "padding_char": "_", "number_base": 36, "reset_scope": "date", "time_zone": "Asia/Tokyo"}
	]}`
	want := []format.Part{
		{Type: format.FixedChars, Value: "INV"},
		{Type: format.FixedPollingChar, CharsScope: "ABC"},
		{Type: format.FixedRandomChars, CharsScope: "xyz", Length: 2},
		{Type: format.DateFormat, Format: "yyyyMMdd", TimeZone: "Asia/Tokyo"},
		{Type: format.FixedChars, Value: "/"},
		{Type: format.Timestamp, BaseTS: 1_673_606_841_000},
		{Type: format.FixedChars, Value: "/"},
		{Type: format.UnixSeconds, BaseUnix: 1_673_606_841},
		{Type: format.FixedChars, Value: "/"},
		{Type: format.AutoIncrement, Length: 4, LengthFixed: true, PaddingMode: "suffix", PaddingChar: "_", NumberBase: 36, ResetScope: format.ResetDate, TimeZone: "Asia/Tokyo"},
	}
	c := parse(t, idconfig.TypeFormatted, body).Formatted
	if diff := cmp.Diff(want, c.Parts); diff != "" || c.Pattern != "" || c.SequenceReset != "" {
		t.Errorf("%+v: %s", c, diff)
	}
	if c.Format.Sample(now) == "" {
		t.Error("the format is not compiled")
	}
	for body, sample := range map[string]string{
		`{"name": "k", "pattern": "INV{YYYY}{MM}{DD}-{SEQ:4}", "sequence_reset": "daily"}`: "INV20261122-0001",
		`{"key": "k", "pattern": "{SEQ:1}"}`:                                               "1",
	} {
		c := parse(t, idconfig.TypeFormatted, body).Formatted
		if got := c.Format.Sample(now); got != sample || c.Pattern == "" || c.SequenceReset == "" {
			t.Errorf("%s: the sample is %q, want %q; %+v", body, got, sample, c)
		}
	}
}

// hasFault checks that an error has exactly the faults with the given beginnings, in
// their order, each a *ParamError.
func hasFault(t *testing.T, body string, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: accepted", body)
		return
	}
	got := faultsOf(err)
	ok := slices.EqualFunc(got, want, func(e error, want string) bool {
		var p *idconfig.ParamError
		return errors.As(e, &p) && strings.HasPrefix(e.Error(), want)
	})
	if !ok {
		t.Errorf("%s:\nthe faults are\n\t%v\nwant\n\t%v", body, strings.ReplaceAll(err.Error(), "\n", "\n\t"), strings.Join(want, "\n\t"))
	}
}

func faultsOf(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
