// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// testDialog returns a dialog that reads what was typed, whose command wait runs until it
// is interrupted.
func testDialog(t *testing.T, typed string) (*dialog, *strings.Builder) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	var errs strings.Builder
	c := shell.NewConsole("x", nil, shell.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
	d := &dialog{terminal: null, out: null, in: &input{from: strings.NewReader(typed)}, history: &history{}, signals: make(chan os.Signal, 1)}
	d.state = &state{console: c, ctx: t.Context(), session: &database.Session{}}
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
