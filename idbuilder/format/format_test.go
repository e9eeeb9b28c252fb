// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 22, 12, 34, 56, 789_000_000, time.UTC)

func mustCompile(t testing.TB, parts ...Part) *Format {
	t.Helper()
	f, err := Compile(parts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustAppend(t testing.TB, f *Format, now time.Time, numbers ...int64) string {
	t.Helper()
	id, err := f.Append([]byte(">"), now, numbers, rand.Reader)
	if err != nil || id[0] != '>' {
		t.Fatalf("%q, %v", id, err)
	}
	return string(id[1:])
}

func TestParts(t *testing.T) {
	for _, test := range []struct {
		name    string
		parts   []Part
		numbers []int64
		want    string
	}{
		{"the specification's", []Part{text("INV"), date("yyyyMMdd"), {Type: AutoIncrement, Length: 4, ResetScope: ResetDate}}, []int64{1}, "INV202611220001"},
		{"number beyond its length", []Part{{Type: AutoIncrement, Length: 2}}, []int64{12345}, "12345"},
		{"hexadecimal, suffix", []Part{{Type: AutoIncrement, Length: 4, NumberBase: 16, PaddingMode: "suffix", PaddingChar: "_"}}, []int64{255}, "ff__"},
		{"base 36", []Part{{Type: AutoIncrement, NumberBase: 36}}, []int64{math.MaxInt64}, "1y2p0ij32e8e7"},
		{"base 2", []Part{{Type: AutoIncrement, NumberBase: 2, Length: 8}}, []int64{5}, "00000101"},
		{"polling", []Part{counted(), {Type: FixedPollingChar, CharsScope: "aéz"}}, []int64{7, 5}, "7é"},
		{"polling begins at the first", []Part{counted(), {Type: FixedPollingChar, CharsScope: "abz"}}, []int64{7, 1}, "7a"},
		{"time", []Part{{Type: Timestamp, BaseTS: 1700000000000}, text("."), {Type: UnixSeconds, BaseUnix: 1700000000}, text("_"), counted()}, []int64{1}, "95350896789.95350896_1"},
		{"time in a zone", []Part{{Type: DateFormat, Format: "yyyy-MM-dd'T'HH:mm X", TimeZone: "Asia/Kathmandu"}, text("#"), counted()}, []int64{9}, "2026-11-22T18:19 +05#9"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := mustAppend(t, mustCompile(t, test.parts...), noon, test.numbers...); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestExhausted: a number that does not fit a fixed length is refused, never made longer.
func TestExhausted(t *testing.T) {
	f := mustCompile(t, Part{Type: AutoIncrement, Length: 3, LengthFixed: true})
	if max := f.Counters()[0].Max; max != 999 || mustAppend(t, f, noon, max) != "999" {
		t.Errorf("the last number is %d", max)
	}
	for _, n := range []int64{1000, math.MaxInt64, -1} {
		if id, err := f.Append(nil, noon, []int64{n}, rand.Reader); !errors.Is(err, ErrExhausted) {
			t.Errorf("%d gives %q (%v)", n, id, err)
		}
	}
	for length, want := range map[int]int64{1: 35, 12: 4738381338321616895, 13: math.MaxInt64, 64: math.MaxInt64} {
		f := mustCompile(t, Part{Type: AutoIncrement, Length: length, LengthFixed: true, NumberBase: 36})
		if max := f.Counters()[0].Max; max != want {
			t.Errorf("the last number of %d digits is %d, want %d", length, max, want)
		}
	}
}

// TestPeriods: counters begin anew at the boundary in their zone. After a clock was set back, the
// counter of the earlier period goes on.
func TestPeriods(t *testing.T) {
	f := mustCompile(t,
		Part{Type: DateFormat, Format: "yyyyMMdd", TimeZone: "Asia/Tokyo"},
		Part{Type: AutoIncrement, Length: 4, LengthFixed: true, ResetScope: ResetDate},
		Part{Type: AutoIncrement, Length: 4, LengthFixed: true, ResetScope: ResetMonth},
		Part{Type: AutoIncrement, Length: 4, LengthFixed: true, ResetScope: ResetYear},
		Part{Type: AutoIncrement, ResetScope: ResetNever},
		Part{Type: FixedPollingChar, CharsScope: "ab"})
	before := time.Date(2026, 12, 31, 14, 59, 59, 999_999_999, time.UTC) // midnight in Tokyo is next
	for _, step := range []struct {
		now  time.Time
		want []string
	}{
		{before, []string{"2026-12-31", "2026-12", "2026", "", ""}},
		{before.Add(1), []string{"2027-01-01", "2027-01", "2027", "", ""}},
		{before, []string{"2026-12-31", "2026-12", "2026", "", ""}},
	} {
		var got []string
		for _, c := range f.Counters() {
			got = append(got, c.Period(step.now))
			if r := ResetOf(c.Period(step.now)); r != c.Reset {
				t.Errorf("the period %q is of the reset %s, want %s", c.Period(step.now), r, c.Reset)
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", step.now, diff)
		}
	}
	if id := mustAppend(t, f, before.Add(1), 1, 2, 3, 4, 1); id != "202701010001000200034a" {
		t.Error(id)
	}
}

// TestPeriodBefore checks the periods before others, over the ends of months and years.
func TestPeriodBefore(t *testing.T) {
	for period, want := range map[string]string{
		"2026": "2025", "2026-11": "2026-10", "2027-01": "2026-12", "2026-11-22": "2026-11-21", "2027-01-01": "2026-12-31", "2028-03-01": "2028-02-29",
		"": "", "2026-13": "", "2026-1": "", "x": "",
	} {
		r := ResetOf(period)
		if got := r.Before(period); got != want || (r == ResetNever) != (want == "") {
			t.Errorf("before %q is %q, by %s, want %q", period, got, r, want)
		}
	}
}

// TestRandomChars: all characters are equally likely, even if their number divides no power of two.
func TestRandomChars(t *testing.T) {
	const set, length, rounds = "abcdefghijklmnopqrstuvwxyzäöü", 64, 2000
	f := mustCompile(t, Part{Type: FixedRandomChars, CharsScope: set, Length: length})
	counts := map[rune]float64{}
	for range rounds {
		for _, c := range mustAppend(t, f, noon) {
			counts[c]++
		}
	}
	chi2, expected := 0.0, float64(rounds*length)/29
	for _, c := range set {
		chi2 += (counts[c] - expected) * (counts[c] - expected) / expected
	}
	if chi2 > 78 { // 28 degrees of freedom, one in a million
		t.Errorf("χ² is %.1f: %v", chi2, counts)
	}
}

// TestRandomCharsRejects: bytes beyond the last multiple of the number of characters are drawn again.
func TestRandomCharsRejects(t *testing.T) {
	source := bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xfe, 0xff, 0xfd, 0xff, 0xfc})
	got, err := appendRandom(nil, []rune("abcdefg"), 1, source) // 65,536 is 9,362 times 7, and 2
	if err != nil || string(got) != "g" {
		t.Errorf("%q, %v; want the character of 65,533", got, err)
	}
	f := mustCompile(t, random(3))
	if _, err := f.Append(nil, noon, nil, iotest.ErrReader(io.ErrNoProgress)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a failing source gives %v", err)
	}
}

// A clock before the base of a timestamp makes no ID.
func TestBeforeBase(t *testing.T) {
	for _, p := range []Part{{Type: Timestamp, BaseTS: noon.UnixMilli() + 1}, {Type: UnixSeconds, BaseUnix: noon.Unix() + 1}} {
		f := mustCompile(t, p, random(3))
		if id, err := f.Append(nil, noon, nil, rand.Reader); !errors.Is(err, ErrBeforeBase) {
			t.Errorf("%q, %v", id, err)
		}
		mustAppend(t, f, noon.Add(time.Second))
	}
}

// A sample has the form of an ID and is always the same.
func TestSample(t *testing.T) {
	f := mustCompile(t, text("A-"), random(4), text("-"), Part{Type: AutoIncrement, Length: 3})
	first := f.Sample(noon)
	if !regexp.MustCompile(`^A-[abc]{4}-001$`).MatchString(first) || f.Sample(noon) != first {
		t.Errorf("samples %q and %q", first, f.Sample(noon))
	}
}

func TestParsePattern(t *testing.T) {
	for _, test := range []struct{ pattern, reset, want string }{
		{"INV{YYYY}{MM}{DD}-{SEQ:4}", "daily", `^INV20261122-0007$`},
		{"{YY}{HH}{mm}{ss}_{SEQ:20}", "", `^26123456_00000000000000000007$`},
		{"ORD-{UUID}", "never", `^ORD-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"CODE-{RAND:8}", "never", `^CODE-[A-Z0-9]{8}$`},
		{"{YYYY}{MM}/{SEQ:1}", "monthly", `^202611/7$`},
		{"ü{YYYY}:{SEQ:1}}", "yearly", `^ü2026:7}$`},
	} {
		parts, err := ParsePattern(test.pattern, test.reset)
		if err != nil {
			t.Fatal(err)
		}
		f := mustCompile(t, parts...)
		numbers := make([]int64, len(f.Counters()))
		for i := range numbers {
			numbers[i] = 7
		}
		if got := mustAppend(t, f, noon, numbers...); !regexp.MustCompile(test.want).MatchString(got) {
			t.Errorf("%s gives %q", test.pattern, got)
		}
	}
	for pattern, want := range map[string]string{
		"{INVALID}": "at byte 1: the placeholder {INVALID} is unknown", "ab{SEQ:0}": `at byte 3: "0" is not a number from 1 to 20`, "{SEQ:21}": "1 to 20", "{SEQ}": "1 to 20",
		"{RAND:33}": "1 to 32", "{RAND:x}": "1 to 32", "x{UNCLOSED": "at byte 2: a brace is not closed", "{SEQ:1}-{SEQ:2}": "stands twice",
	} {
		if _, err := ParsePattern(pattern, "never"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
	if _, err := ParsePattern("{SEQ:1}", "weekly"); err == nil {
		t.Error("a reset of weekly is accepted")
	}
}
