// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  dir  tree\t/a ", []string{"dir", "tree", "/a"}},
		{`kv get '("R", "Order", 42)'`, []string{"kv", "get", `("R", "Order", 42)`}},
		{`a\/b 'c\x00' "d\" e\ f \'`, []string{`a\/b`, `c\x00`, `d\`, "e f", "'"}},
		{`''  a'b'"c"`, []string{"", "abc"}},
		{"pwd # not this", []string{"pwd"}},
		{"a#b", []string{"a#b"}},
	} {
		if words, err := split(test.line); err != nil || !slices.Equal(words, test.want) {
			t.Errorf("%s: %q, %v, want %q", test.line, words, err, test.want)
		}
	}
	for _, line := range []string{"a 'b", `"`} {
		if words, err := split(line); !errors.Is(err, errQuote) {
			t.Errorf("%s: %q, %v", line, words, err)
		}
	}
}

// TestQuoteReadsBack quotes random words, and splits them.
func TestQuoteReadsBack(t *testing.T) {
	random := seed.Rand(t)
	const odd = "a\\'\" #\t/("
	for range 10_000 {
		words := make([]string, random.IntN(3))
		line := ""
		for i := range words {
			word := make([]byte, random.IntN(5))
			for j := range word {
				word[j] = odd[random.IntN(len(odd))]
			}
			words[i] = string(word)
			line += " " + quote(words[i])
		}
		if back, err := split(line); err != nil || !slices.Equal(back, words) {
			t.Fatalf("%q: %q, %v by way of %s", words, back, err, line)
		}
		if back, err := split(shell.Argument(strings.Join(words, " "))); err != nil || !slices.Equal(back, []string{strings.Join(words, " ")}) {
			t.Fatalf("%q: %q, %v by way of shell.Argument", words, back, err)
		}
	}
}

func TestSplitPartial(t *testing.T) {
	for _, test := range []struct {
		line  string
		words []string
		word  string
		at    int
	}{
		{"", nil, "", 0},
		{"di", nil, "di", 0},
		{"dir ", []string{"dir"}, "", 4},
		{"dir tree ten", []string{"dir", "tree"}, "ten", 9},
		{"dir tree 'a b", []string{"dir", "tree"}, "a b", 9},
		{"dir 'a' ", []string{"dir", "a"}, "", 8},
	} {
		words, word, at := splitPartial(test.line)
		if !slices.Equal(words, test.words) || word != test.word || at != test.at {
			t.Errorf("%q: %q, %q at %d", test.line, words, word, at)
		}
	}
}
