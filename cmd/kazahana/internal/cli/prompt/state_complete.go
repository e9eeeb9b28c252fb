// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// completions returns the words that can stand where the last word is being typed, and
// whether a space follows a word that is complete. They are those that the commands
// complete for other shells, too.
func (s *state) completions(words []string, word string) (all []string, space bool) {
	var out bytes.Buffer
	c := shell.NewConsole(s.console.Name, nil, shell.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard})
	root := s.newRoot(c)
	root.SetOut(&out)
	root.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, words...), word))
	if err := root.ExecuteContext(s.ctx); err != nil {
		return nil, false
	}
	directive := cobra.ShellCompDirectiveDefault
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if n, ok := strings.CutPrefix(line, ":"); ok {
			if bits, err := strconv.Atoi(n); err == nil {
				directive = cobra.ShellCompDirective(bits)
				continue
			}
		}
		if strings.HasPrefix(line, word) {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), directive&cobra.ShellCompDirectiveNoSpace == 0
}

// complete returns a line with the word before the cursor completed as far as it is
// certain, and the words that could stand there if there are several.
func (s *state) complete(line string, cursor int) (completed string, at int, choice []string) {
	words, word, begin := splitPartial(line[:cursor])
	all, space := s.completions(words, word)
	if len(all) == 0 {
		return line, cursor, nil
	}
	common := all[0]
	for _, other := range all[1:] {
		common = commonPrefix(common, other)
	}
	text := quote(common)
	switch {
	case len(all) == 1 && space:
		text += " "
	case len(all) == 1:
	case common == word:
		return line, cursor, all
	}
	if len(all) > 1 || !space { // the word goes on: no quote ends it
		text = strings.TrimSuffix(text, "'")
		if !strings.HasPrefix(text, "'") {
			text = common
		}
	}
	return line[:begin] + text + line[cursor:], begin + len(text), nil
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}
