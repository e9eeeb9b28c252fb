// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

func TestCheckKey(t *testing.T) {
	for _, key := range []string{
		"k", "7", "orders", "Orders", "a_b", "_k", "k_", "_", "a__b", "a-b.c:d/e@f+g", "two words", ".", "..", "/", "-",
		"注文", "заказы", "e\u0301", "हिन्दी", "٣", strings.Repeat("k", 255), strings.Repeat("é", 127),
	} {
		if err := idconfig.CheckKey("key", key); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for key, want := range map[string]string{
		"":                       "it is empty; allowed are 1 to 255 bytes",
		strings.Repeat("k", 256): "it has 256 bytes; allowed are 1 to 255",
		strings.Repeat("é", 128): "it has 256 bytes",
		"__":                     "two underscores",
		"__global__":             "two underscores",
		"__k":                    "two underscores",
		"k__":                    "two underscores",
		" k":                     "space at an end",
		"k ":                     "space at an end",
		"a  b":                   "two in a row",
		"k\xff":                  "not UTF-8",
		"a#b":                    `the character '#'`,
		"a\x00b":                 "the character",
		"a\nb":                   "the character",
		"a\u00a0b":               "the character",
		"a\u200db":               "the character",
		"a\ufffdb":               "the character",
		`a\b`:                    "the character",
		"a*b":                    "the character",
		"a%b":                    "the character",
		"{a}":                    "the character",
		"a,b":                    "the character",
		"🙂":                      "the character",
	} {
		err := idconfig.CheckKey("key", key)
		var p *idconfig.ParamError
		if !errors.As(err, &p) || !errors.Is(err, idconfig.ErrKey) || p.Param != "key" || !strings.Contains(p.Reason, want) {
			t.Errorf("%q: %v, want %q", key, err, want)
		}
	}
}

// TestSequenceNames: the names of the sequences of the longest key are names of
// sequences, and different keys, counters and periods have different ones.
func TestSequenceNames(t *testing.T) {
	seen := map[string]bool{}
	for _, key := range []string{"a", "a:2026", "a/0", "0", strings.Repeat("k", 200), strings.Repeat("k", 201), strings.Repeat("k", 254), strings.Repeat("k", idconfig.MaxKey)} {
		for _, name := range []string{
			key, idconfig.SequenceName(key, 0, ""), idconfig.SequenceName(key, 31, ""), idconfig.SequenceName(key, 0, "2026"),
			idconfig.SequenceName(key, 0, "2026-11"), idconfig.SequenceName(key, 31, "2026-11-22"),
		} {
			if err := store.CheckName(name); err != nil || seen[name] {
				t.Errorf("%q: %v, twice: %v", name, err, seen[name])
			}
			seen[name] = true
			counter, period, ok := idconfig.CutPeriod(name)
			if has := strings.Contains(strings.TrimPrefix(name, key), ":"); ok != has || ok && counter+":"+period != name || ok && !strings.HasPrefix(period, "2026") {
				t.Errorf("%q is cut into %q and %q, %v", name, counter, period, ok)
			}
		}
	}
	for key, want := range map[string]string{ // stores have these
		"orders": "orders#2:2026-11-22", strings.Repeat("k", 200): strings.Repeat("k", 200) + "#2:2026-11-22",
		strings.Repeat("k", 201): "#ebf0ead0a3b837bc388d6a36c93833fff64a0a8bc8198fc0f1b7b5031dddd254#2:2026-11-22",
	} {
		if got := idconfig.SequenceName(key, 2, "2026-11-22"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
