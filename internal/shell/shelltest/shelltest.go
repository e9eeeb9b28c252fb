// SPDX-License-Identifier: Apache-2.0

// Package shelltest checks that the output of a command cannot act on a terminal,
// whatever foreign text the command gets.
package shelltest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Evil is foreign text that clears the terminal, sets its title, begins
// lines, turns the direction of text, and is not valid UTF-8.
const Evil = "\x1b[2J\x1b]0;owned\a\r\nkazahana: done\nmachine 7 bits 8 active\u202e\u009b1m\u2028\x7f\x00\xff\t{\"error\":1}"

// CheckHarmless checks that nothing written acts on a terminal, or is a line that
// only foreign text has begun.
func CheckHarmless(t *testing.T, args []string, text string, asJSON bool) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q writes what is no UTF-8: %q", args, text)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%q writes %q", args, text[i:min(i+20, len(text))])
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "kazahana: done") || strings.HasPrefix(line, "machine 7 bits") || !asJSON && strings.HasPrefix(line, "{") {
			t.Errorf("%q writes a forged line: %q", args, line)
		}
		if asJSON && !json.Valid([]byte(line)) && !strings.HasPrefix(args[1], "help") {
			t.Errorf("%q writes what is no JSON: %q", args, line)
		}
	}
}
