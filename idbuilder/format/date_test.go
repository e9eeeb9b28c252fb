// SPDX-License-Identifier: Apache-2.0

package format

import (
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// The letters, as Java's DateTimeFormatter writes them in English.
func TestDateLetters(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	night := time.Date(2027, 1, 2, 0, 4, 5, 67_000_000, tokyo) // a Saturday of the last ISO week of 2026
	day := time.Date(2026, 11, 22, 12, 34, 56, 789_123_456, time.UTC)
	for _, test := range []struct{ pattern, night, day string }{
		{"yyyyMMdd", "20270102", "20261122"},
		{"y yy yyy yyyyy", "2027 27 2027 02027", "2026 26 2026 02026"},
		{"M MM MMM MMMM", "1 01 Jan January", "11 11 Nov November"},
		{"d dd D DDD", "2 02 2 002", "22 22 326 326"},
		{"H HH k kk", "0 00 24 24", "12 12 12 12"},
		{"K KK h hh a", "0 00 12 12 AM", "0 00 12 12 PM"},
		{"m mm s ss", "4 04 5 05", "34 34 56 56"},
		{"S SSS SSSSSSSSS", "0 067 067000000", "7 789 789123456"},
		{"E EEEE e", "Sat Saturday 6", "Sun Sunday 7"},
		{"YYYY-'W'ww YY w", "2026-W53 26 53", "2026-W47 26 47"},
		{"X XX XXX Z z", "+09 +0900 +09:00 +0900 JST", "Z Z Z +0000 UTC"},
		{"yyyy'''T'''HH''mm'it''s'", "2027'T'00'04it's", "2026'T'12'34it's"},
		{"yyyy年MM月dd日", "2027年01月02日", "2026年11月22日"},
	} {
		d, err := parseDate(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		if got := string(d.Append(nil, night)); got != test.night {
			t.Errorf("%s at night is %q, want %q", test.pattern, got, test.night)
		}
		if got := string(d.Append(nil, day)); got != test.day {
			t.Errorf("%s at day is %q, want %q", test.pattern, got, test.day)
		}
	}
}

func TestDateFaults(t *testing.T) {
	for pattern, want := range map[string]string{
		"":            "shows no part of the time",
		"'text'":      "shows no part of the time",
		"--":          "shows no part of the time",
		"yyyyTHH":     "at character 5 of",
		"yyyy'T":      "a quote is not closed",
		"MMMMM":       `5 times 'M', at most 4`,
		"ddd":         `3 times 'd', at most 2`,
		"yyyy G":      `the letter 'G' has no meaning`,
		"yyyyMMddhhn": `the letter 'n'`,
	} {
		if _, err := parseDate(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}

// TestDateWidths: a field of a fixed width has that width at any time.
func TestDateWidths(t *testing.T) {
	random := seed.Rand(t)
	for letter, most := range maxCount {
		for count := 1; count <= most; count++ {
			d, err := parseDate(strings.Repeat(string(letter), count))
			if err != nil {
				t.Fatal(err)
			}
			for range 300 {
				at := time.Unix(random.Int64N(253_370_000_000), random.Int64N(1e9)).UTC() // until 9998
				if got := string(d.Append(nil, at)); d.fixed >= 0 && len(got) != d.fixed {
					t.Errorf("%d times %c is %q, not %d wide", count, letter, got, d.fixed)
					break
				}
				for _, c := range string(d.Append(nil, at)) {
					if !d.canShow(c) {
						t.Errorf("%d times %c shows %q", count, letter, c)
					}
				}
			}
		}
	}
}

// FuzzParseDate checks that parseDate panics for no pattern, nor do the dates that it returns.
func FuzzParseDate(f *testing.F) {
	f.Add("yyyyMMdd'T'HHmmss.SSS")
	f.Add("''''")
	f.Fuzz(func(t *testing.T, pattern string) {
		d, err := parseDate(pattern)
		if err != nil {
			return
		}
		d.Append(nil, noon)
	})
}
