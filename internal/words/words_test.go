// SPDX-License-Identifier: Apache-2.0

package words

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		" … -- ,;\n":                  nil,
		"Der Drucker brennt!":         {"der", "drucker", "brennt"},
		"can't STRASSE, Straße":       {"can't", "strasse", "strasse"},
		"A-1001 e-mail 3.50 €":        {"a", "1001", "e", "mail", "3.50"},
		"ada@example.com":             {"ada", "example.com"},
		"naïve NAI\u0308VE":           {"naïve", "naïve"},
		"日本語 テスト":                     {"日", "本", "語", "テスト"},
		"สวัสดี":                      {"ส", "วั", "ส", "ดี"},
		"👍 ok":                        {"ok"},
		"bad\xffutf":                  {"bad", "utf"},
		"\ua7dc \U000323b0 ok":        {"ok"}, // letters of Unicode 16 and 17
		"snake_case":                  {"snake_case"},
		strings.Repeat("x", 101):      {strings.Repeat("x", 100)},
		strings.Repeat("é", 51):       {strings.Repeat("é", 50)},
		"a" + strings.Repeat("é", 60): {"a" + strings.Repeat("é", 49)},
	} {
		if got := slices.Collect(Split(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for range Split("one two") {
		break // the loop may end
	}
}

// TestRecorded compares the words around each character with what they were when the marker was
// released. If it fails after an update of github.com/clipperhouse/uax29 or of Go, stored indexes have
// other words: see docs/dependencies.md.
func TestRecorded(t *testing.T) {
	const want = "4abf8cedfcd5b7d16b0f607fec0b32f9f4157845bd63b8418d2bf72e4b8ca6f7"
	sum := sha256.New()
	for r := range rune(unicode.MaxRune + 1) {
		if utf8.ValidRune(r) && (r < 0x3400 || r > 0xd7ff) && r < 0x20000 || r > 0xe0000 && r < 0xe0200 {
			fmt.Fprintf(sum, "%+q\n", slices.Collect(Split("a"+string(r)+"b 1"+string(r)+"2 "+string(r)+"א\""+string(r))))
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("texts have other words than those of stored entries: %s, recorded is %s", got, want)
	}
}
