// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func counted() Part { return Part{Type: AutoIncrement} }

func date(pattern string) Part { return Part{Type: DateFormat, Format: pattern} }

func text(s string) Part { return Part{Type: FixedChars, Value: s} }

func random(n int) Part { return Part{Type: FixedRandomChars, CharsScope: "abc", Length: n} }

// TestFaults: the error names the part and the parameter of each fault.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []Part
		want  []string // how the faults begin
	}{
		{"none", nil, []string{"parts: 0 parts, allowed are 1 to 32"}},
		{"too many", make([]Part, 33)[:0:0], []string{"parts: 0 parts"}},
		{"unknown type", []Part{{Type: "fixed"}, counted()}, []string{`parts[0].type: "fixed" is unknown; allowed are fixed-chars, `}},
		{"foreign parameter", []Part{{Type: FixedChars, Value: "x", Length: 3}, counted()}, []string{"parts[0].length: a part of type fixed-chars has no such parameter; it has value"}},
		{"two faults", []Part{text(""), {Type: FixedRandomChars}}, []string{"parts[0].value: 0 bytes", "parts[1].chars_scope: 0 characters"}},
		{"text that is not UTF-8", []Part{text("\xff"), counted()}, []string{"parts[0].value: is not UTF-8"}},
		{"characters twice", []Part{{Type: FixedPollingChar, CharsScope: "aba"}, counted()}, []string{`parts[0].chars_scope: has 'a' twice`}},
		{"too long", []Part{random(65)}, []string{"parts[0].length: 65 characters, allowed are 1 to 64"}},
		{"negative length", []Part{{Type: AutoIncrement, Length: -1}}, []string{"parts[0].length: -1 characters"}},
		{"fixed without a length", []Part{{Type: AutoIncrement, LengthFixed: true}}, []string{"parts[0].length: 0 characters"}},
		{"base", []Part{{Type: AutoIncrement, NumberBase: 37}}, []string{"parts[0].number_base: 37 as the base, allowed are 2 to 36"}},
		{"base one", []Part{{Type: AutoIncrement, NumberBase: 1}}, []string{"parts[0].number_base: 1 as the base"}},
		{"padding mode", []Part{{Type: AutoIncrement, PaddingMode: "left"}}, []string{`parts[0].padding_mode: "left" is neither`}},
		{"padding of two", []Part{{Type: AutoIncrement, PaddingChar: "00"}}, []string{`parts[0].padding_char: "00" is not one`}},
		{"suffix of zeros", []Part{{Type: AutoIncrement, Length: 4, PaddingMode: "suffix"}}, []string{`parts[0].padding_char: "0" is a digit`}},
		{"prefix of fives", []Part{{Type: AutoIncrement, Length: 4, PaddingChar: "5"}}, []string{`parts[0].padding_char: "5" is a digit`}},
		{"prefix of f in hexadecimal", []Part{{Type: AutoIncrement, Length: 4, PaddingChar: "f", NumberBase: 16}}, []string{`parts[0].padding_char: "f" is a digit`}},
		{"prefix of f in decimal", []Part{{Type: AutoIncrement, Length: 4, PaddingChar: "f"}}, nil},
		{"suffix of x", []Part{{Type: AutoIncrement, Length: 4, PaddingMode: "suffix", PaddingChar: "x"}}, nil},
		{"reset", []Part{{Type: AutoIncrement, ResetScope: "week"}}, []string{`parts[0].reset_scope: "week" is none of`}},
		{"zone", []Part{{Type: DateFormat, Format: "yyyy", TimeZone: "Mars/Base"}, counted()}, []string{`parts[0].time_zone: "Mars/Base" is no IANA time zone`}},
		{"local zone", []Part{{Type: DateFormat, Format: "yyyy", TimeZone: "Local"}, counted()}, []string{`parts[0].time_zone: "Local" is no`}},
		{"letter", []Part{date("yyyyQQ"), counted()}, []string{`parts[0].format: at character 5 of "yyyyQQ": the letter 'Q' has no meaning`}},
	} {
		t.Run(test.name, func(t *testing.T) { checkFaults(t, test.parts, test.want) })
	}
}

func checkFaults(t *testing.T, parts []Part, want []string) {
	t.Helper()
	_, err := Compile(parts)
	var got []string
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			var pe *partError
			if !errors.As(err, &pe) {
				t.Errorf("%v is no partError", err)
			}
			got = append(got, err.Error())
		}
	}
	if len(got) != len(want) {
		t.Fatalf("faults %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("fault %q, want %q", got[i], want[i])
		}
	}
}

// TestUniqueness: Compile refuses parts that could make two equal IDs, and says what to add.
func TestUniqueness(t *testing.T) {
	daily := Part{Type: AutoIncrement, ResetScope: ResetDate}
	tokyo := Part{Type: DateFormat, Format: "yyyyMMdd", TimeZone: "Asia/Tokyo"}
	for _, test := range []struct {
		name  string
		parts []Part
		want  string // part of the fault; "" none
	}{
		{"a number", []Part{counted()}, ""},
		{"random characters", []Part{random(5)}, ""},
		{"a text", []Part{text("x")}, "neither an auto-increment part nor"},
		{"a time", []Part{{Type: Timestamp}}, "neither"},
		{"polling", []Part{{Type: FixedPollingChar, CharsScope: "abc"}}, "neither"},
		{"one random character of one", []Part{{Type: FixedRandomChars, CharsScope: "a", Length: 9}}, "neither"},
		{"daily without a date", []Part{daily}, "numbers begin anew with each date, but no part shows the date in the time zone UTC"},
		{"daily with a month", []Part{date("yyyyMM"), daily}, "no part shows the date"},
		{"daily with a date without year", []Part{date("MMdd"), daily}, "no part shows the date"},
		{"daily with a date", []Part{date("yyyyMMdd"), daily}, ""},
		{"daily with a day of the year", []Part{date("yyyyDDD"), daily}, ""},
		{"daily with a day of the ISO week", []Part{date("YYYYwwe"), daily}, ""},
		{"daily with a week", []Part{date("YYYYww"), daily}, "no part shows the date"},
		{"daily with the year of the week for that of the day", []Part{date("YYYYMMdd"), daily}, "no part shows the date"},
		{"daily with two digits of the year", []Part{date("yyMMdd"), daily}, ""},
		{"daily with seconds since 1970", []Part{{Type: UnixSeconds}, text("-"), daily}, ""},
		{"monthly with a month", []Part{date("yyyyMM"), {Type: AutoIncrement, ResetScope: ResetMonth}}, ""},
		{"monthly with a year", []Part{date("yyyy"), {Type: AutoIncrement, ResetScope: ResetMonth}}, "each month"},
		{"yearly with a year", []Part{date("yyyy"), {Type: AutoIncrement, ResetScope: ResetYear}}, ""},
		{"daily in the zone of the date", []Part{tokyo, daily}, ""},
		{"daily in another zone", []Part{tokyo, {Type: AutoIncrement, ResetScope: ResetDate, TimeZone: "UTC"}}, "in the time zone UTC"},
		{"two numbers", []Part{counted(), counted()}, "nothing tells where parts[0] ends and this one begins"},
		{"two numbers with a dash", []Part{counted(), text("-"), counted()}, ""},
		{"two numbers with a digit", []Part{counted(), text("0"), counted()}, "nothing tells"},
		{"two numbers padded with the dash", []Part{{Type: AutoIncrement, Length: 3, PaddingChar: "-"}, text("-"), counted()}, "nothing tells"},
		{"a number and a time", []Part{counted(), {Type: Timestamp}}, "nothing tells"},
		{"a time and a number with a dash", []Part{{Type: Timestamp}, text("-"), counted()}, ""},
		{"a number of fixed length and a time", []Part{{Type: AutoIncrement, Length: 9, LengthFixed: true}, {Type: Timestamp}}, ""},
		{"a number and random digits", []Part{counted(), {Type: FixedRandomChars, CharsScope: "0123456789", Length: 3}}, ""},
		{"a number and characters of two sizes", []Part{counted(), {Type: FixedRandomChars, CharsScope: "aé", Length: 3}}, ""},
		{"daily with a date that can be read in two ways", []Part{date("yyyyMd"), text("-"), daily}, "no part shows the date"},
		{"daily with a date of varying width", []Part{date("yyyy-M-d"), text("/"), daily}, ""},
		{"daily with a date of one field of varying width", []Part{date("yyyyMMd"), text("/"), daily}, ""},
		{"dates in two parts", []Part{date("yyyy"), text("/"), date("MMdd"), daily}, ""},
		{"a number and the name of a month", []Part{counted(), date("MMMM")}, "nothing tells"},
		{"a number and a day without zeros", []Part{counted(), date("d")}, "nothing tells"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Compile(test.parts)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestGuarantee(t *testing.T) {
	for _, test := range []struct {
		parts []Part
		want  Guarantee
	}{
		{[]Part{counted()}, Guarantee{Certain: true}},
		{[]Part{date("yyMMdd"), {Type: AutoIncrement, ResetScope: ResetDate}}, Guarantee{Certain: true, Century: true}},
		{[]Part{date("yyyyMMdd"), {Type: AutoIncrement, ResetScope: ResetDate}}, Guarantee{Certain: true}},
		{[]Part{{Type: FixedRandomChars, CharsScope: "01", Length: 20}}, Guarantee{Bits: 20}},
	} {
		f, err := Compile(test.parts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, f.Guarantee()); diff != "" {
			t.Errorf("guarantee (-want +got):\n%s", diff)
		}
	}
	g := Guarantee{Bits: 20} // 1,206 of 2^20: one half, by the birthday problem
	if odds := g.CollisionOdds(1206); odds < 0.499 || odds > 0.501 || g.CollisionOdds(1) != 0 || (Guarantee{Certain: true}).CollisionOdds(1e9) != 0 {
		t.Errorf("the odds of 1206 are %v", odds)
	}
	if s := g.String(); !strings.Contains(s, "of 1.2e+03 IDs") {
		t.Error(s)
	}
}
