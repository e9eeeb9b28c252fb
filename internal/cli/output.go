// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
)

// result is what a command found or did: a JSON object, and lines for people.
type result interface {
	lines() []string
}

// write writes a result: its JSON on one line with --json, else its text.
func (c *command) write(r result) error {
	if c.json {
		enc := json.NewEncoder(c.Out)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	var text strings.Builder
	for _, line := range r.lines() {
		text.WriteString(flat(line) + "\n")
	}
	_, err := io.WriteString(c.Out, text.String())
	return err
}

// fields formats names and values as two columns, a line each.
func fields(pairs ...any) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(w, "%v\t%v\n", pairs[i], pairs[i+1])
	}
	_ = w.Flush() // to memory
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// each calls do with each argument or, where there is none or it is "-", with
// each line of the input that is not blank.
func (c *command) each(args []string, do func(word string) error) error {
	if len(args) > 0 && (len(args) > 1 || args[0] != "-") {
		for _, word := range args {
			if err := do(word); err != nil {
				return err
			}
		}
		return nil
	}
	lines := bufio.NewScanner(c.In)
	for lines.Scan() {
		if word := strings.TrimSpace(lines.Text()); word != "" {
			if err := do(word); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the input: %w", err)
	}
	return nil
}

// logger returns where what happens meanwhile is written: beside errors, in
// their format.
func (c *command) logger() *slog.Logger {
	if c.json {
		return slog.New(slog.NewJSONHandler(c.Err, nil))
	}
	return slog.New(slog.NewTextHandler(c.Err, nil))
}
