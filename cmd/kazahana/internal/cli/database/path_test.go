// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// TestSplitPath parses paths, and texts that are none.
func TestSplitPath(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"/", nil},
		{".", nil},
		{"a", []string{"a"}},
		{"/a/b/", []string{"a", "b"}},
		{`a\/b/\\/\x0a`, []string{"a/b", `\`, "\n"}},
		{`a\\/b`, []string{`a\`, "b"}},
		{"a/../b/./c", []string{"b", "c"}},
		{`\x2e\x2e`, []string{".."}},
		{"größe/ein Name", []string{"größe", "ein Name"}},
	} {
		if path, err := database.SplitPath(test.text); err != nil || !slices.Equal(path, test.want) {
			t.Errorf("%q: %q, %v, want %q", test.text, path, err, test.want)
		}
	}
	for text, want := range map[string]string{
		"a//b": "empty", "//": "empty", "..": "above the root", "a/../..": "above the root",
		`a\`: "backslash", `\n`: "backslash", `\x0`: "backslash", `\xzz`: "does not name a byte", `\xff`: "UTF-8",
	} {
		if path, err := database.SplitPath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want an error with %q", text, path, err, want)
		}
	}
}

// TestPathsReadBack formats random paths, and parses them: the text is printable.
func TestPathsReadBack(t *testing.T) {
	random := seed.Rand(t)
	const odd = "a/\\.x0 \n\x00\u202eé\u00a0"
	runes := []rune(odd)
	for range 10_000 {
		path := make([]string, random.IntN(4))
		for i := range path {
			name := make([]rune, 1+random.IntN(4))
			for j := range name {
				name[j] = runes[random.IntN(len(runes))]
			}
			path[i] = string(name)
		}
		text := database.FormatPath(path)
		if back, err := database.SplitPath(text); err != nil || !slices.Equal(back, path) {
			t.Fatalf("%q: %q, %v by way of %q", path, back, err, text)
		}
		if strings.ContainsAny(text, "\n\x00\u202e") || strings.TrimSpace(text) != text {
			t.Fatalf("%q is not printable: %q", path, text)
		}
	}
}
