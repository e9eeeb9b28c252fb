// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestLineAfterAnInterruptedQuestion: Ctrl-C at a question ends the command; the line that is
// typed next is the shell's.
func TestLineAfterAnInterruptedQuestion(t *testing.T) {
	d, _ := testDialog(t, "")
	typed, keyboard := io.Pipe()
	defer keyboard.Close()
	d.in = &input{from: typed}
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

// TestAnswers: an answer ends behind its line, and is whole whatever the reads return.
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
		t.Errorf("behind the end: %q, %v", text, err)
	}
}
