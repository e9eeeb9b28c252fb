// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// testDialog returns a dialog that reads what was typed. Its command wait runs until it
// is interrupted.
func testDialog(t *testing.T, typed string) (*shellDialog, *strings.Builder) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	var errs strings.Builder
	c := shell.NewConsole("x", nil, shell.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
	d := &shellDialog{terminal: null, out: null, in: &shellInput{from: strings.NewReader(typed)}, history: &shellHistory{}, signals: make(chan os.Signal, 1)}
	d.shellState = &shellState{console: c, ctx: t.Context(), session: &database.Session{}}
	d.root = func(c *shell.Console) *cobra.Command {
		root := shell.Group("x", "About", &cobra.Command{Use: "wait", RunE: func(cmd *cobra.Command, _ []string) error {
			d.signals <- os.Interrupt
			<-cmd.Context().Done()
			return cmd.Context().Err()
		}})
		c.Prepare(root)
		return root
	}
	return d, &errs
}

// TestTypedLines: Ctrl-C clears a line, Ctrl-D ends the shell, and what was typed ahead is
// left for whatever reads next.
func TestTypedLines(t *testing.T) {
	d, _ := testDialog(t, "abc\x03pwd\rcd /\ry\n\x04")
	if line, err := d.editLine(); !errors.Is(err, io.EOF) || !d.in.interrupted {
		t.Fatalf("%q, %v; interrupted: %v", line, err, d.in.interrupted)
	}
	for _, want := range []string{"pwd", "cd /"} {
		if line, err := d.editLine(); err != nil || line != want {
			t.Fatalf("%q, %v, want %q", line, err, want)
		}
	}
	answer := make([]byte, 100)
	if n, err := d.in.Read(answer); err != nil || string(answer[:n]) != "y\n" {
		t.Fatalf("a question reads %q, %v", answer[:n], err)
	}
	if line, err := d.editLine(); !errors.Is(err, io.EOF) || d.in.interrupted {
		t.Fatalf("%q, %v; interrupted: %v", line, err, d.in.interrupted)
	}
}

// TestInterruptEndsCommand: Ctrl-C ends the command that runs, and not the shell.
func TestInterruptEndsCommand(t *testing.T) {
	d, errs := testDialog(t, "")
	if signal := d.runLine("wait"); signal != os.Interrupt || d.ended || d.ctx.Err() != nil {
		t.Errorf("ended by %v; shell ended: %v, %v", signal, d.ended, d.ctx.Err())
	}
	if !strings.Contains(errs.String(), context.Canceled.Error()) || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("the error is %q", errs)
	}
	if d.runLine("exit"); !d.ended {
		t.Error("exit does not end the shell")
	}
}

// TestHistory keeps the newest lines, in a file that others cannot read.
func TestHistory(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	h, err := loadHistory()
	if err != nil {
		t.Fatal(err)
	}
	for range mostHistory {
		h.Add("a")
		h.Add("b")
		h.Add("b")
		h.Add("  ")
	}
	h.Add("last")
	back, err := loadHistory()
	if err != nil || back.Len() != mostHistory || back.At(0) != "last" || back.At(1) != "b" || back.At(2) != "a" {
		t.Fatalf("%d lines, %v: %q", back.Len(), err, back.lines[:3])
	}
	info, err := os.Stat(filepath.Join(os.Getenv("XDG_STATE_HOME"), "kazahana", "history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

// TestHistoryIsPrivate: a history that others can read becomes the user's own with the next
// line, and stays so when it is written anew.
func TestHistoryIsPrivate(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	folder := filepath.Join(os.Getenv("XDG_STATE_HOME"), "kazahana")
	file := filepath.Join(folder, "history")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expectPrivate := func(when string) {
		t.Helper()
		info, err := os.Stat(file)
		if check(err); info.Mode().Perm() != 0o600 {
			t.Errorf("%s the mode is %v", when, info.Mode())
		}
	}
	check(os.Mkdir(folder, 0o755))
	for _, name := range []string{file, file + ".new"} {
		check(os.WriteFile(name, []byte("kv range\n"), 0o644))
		check(os.Chmod(name, 0o644)) // whatever the umask
	}
	h, err := loadHistory()
	check(err)
	h.Add("type list")
	expectPrivate("after a line")
	for i := range mostHistory - 1 { // with the two lines that are there, one too many
		h.Add(fmt.Sprint("dir tree ", i))
	}
	expectPrivate("after it was written anew")
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "\n") != mostHistory {
		t.Errorf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
}

// TestLineAfterAnInterruptedQuestion: Ctrl-C at a question ends the command; the line that is
// typed next is the shell's.
func TestLineAfterAnInterruptedQuestion(t *testing.T) {
	d, _ := testDialog(t, "")
	typed, keyboard := io.Pipe()
	defer keyboard.Close()
	d.in = &shellInput{from: typed}
	d.root = func(c *shell.Console) *cobra.Command {
		root := shell.Group("x", "About", &cobra.Command{Use: "ask", RunE: func(cmd *cobra.Command, _ []string) error {
			d.signals <- os.Interrupt
			text, err := c.In.(shell.LineReader).ReadLine(cmd.Context())
			if text != "" || !errors.Is(err, context.Canceled) {
				t.Errorf("%q, %v", text, err)
			}
			return err
		}}, &cobra.Command{Use: "read", RunE: func(*cobra.Command, []string) error {
			d.signals <- os.Interrupt
			if text, err := io.ReadAll(c.In); len(text) > 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("%q, %v", text, err)
			}
			return nil
		}})
		c.Prepare(root)
		return root
	}
	for _, command := range []string{"ask", "read", "ask"} {
		if ended := d.runLine(command); ended != os.Interrupt {
			t.Errorf("%s was ended by %v", command, ended)
		}
	}
	go func() { _, _ = io.WriteString(keyboard, "pwd\r") }()
	if line, err := d.editLine(); err != nil || line != "pwd" {
		t.Errorf("%q, %v", line, err)
	}
}

// TestAnswers: an answer ends after its line, and is whole whatever the reads return.
func TestAnswers(t *testing.T) {
	d, _ := testDialog(t, "yes\nno\npwd\r")
	for _, want := range []string{"yes\n", "no\n"} {
		if text, err := (commandInput{d.in, t.Context()}).ReadLine(t.Context()); text != want || err != nil {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
	}
	if line, err := d.editLine(); err != nil || line != "pwd" {
		t.Errorf("%q, %v", line, err)
	}
	if text, err := (commandInput{d.in, t.Context()}).ReadLine(t.Context()); text != "" || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %q, %v", text, err)
	}
}

// TestScriptLines reads a script to its end, although no newline ends its last line.
func TestScriptLines(t *testing.T) {
	s := newShellScript(strings.NewReader("a\nb"))
	defer s.close()
	for _, want := range []scriptLine{{"a\n", nil}, {"b", io.EOF}, {"", io.EOF}} {
		if text, err := s.readLine(t.Context()); text != want.text || err != want.err {
			t.Errorf("%q, %v; want %q, %v", text, err, want.text, want.err)
		}
	}
}

// TestScriptHeedsContext: the wait for a line of an idle pipe ends with its context.
func TestScriptHeedsContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	s := newShellScript(in)
	defer s.close()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := s.readLine(ctx); !errors.Is(err, stopped) {
		t.Errorf("%v, want %v", err, stopped)
	}
}

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
		if words, err := splitWords(test.line); err != nil || !slices.Equal(words, test.want) {
			t.Errorf("%s: %q, %v, want %q", test.line, words, err, test.want)
		}
	}
	for _, line := range []string{"a 'b", `"`} {
		if words, err := splitWords(line); !errors.Is(err, errQuote) {
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
			line += " " + quoteWord(words[i])
		}
		if back, err := splitWords(line); err != nil || !slices.Equal(back, words) {
			t.Fatalf("%q: %q, %v by way of %s", words, back, err, line)
		}
		if back, err := splitWords(shell.Argument(strings.Join(words, " "))); err != nil || !slices.Equal(back, []string{strings.Join(words, " ")}) {
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
