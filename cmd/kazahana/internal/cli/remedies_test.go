// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestRemedies: each command in what the doctor says to do is one of kazahana's, with its
// arguments and flags, and is marked as a command.
func TestRemedies(t *testing.T) {
	marked, n := regexp.MustCompile("`kazahana ([^`]*)`"), 0
	for _, code := range doctor.Codes() {
		if rest := marked.ReplaceAllString(code.Remedy, ""); strings.Contains(rest, "kazahana ") || strings.Contains(rest, "`") {
			t.Errorf("%s: a command is not marked: %s", code.Name, code.Remedy)
		}
		for _, command := range marked.FindAllStringSubmatch(code.Remedy, -1) {
			n++
			if err := parse(strings.Fields(command[1])); err != nil {
				t.Errorf("%s: kazahana %s: %v", code.Name, command[1], err)
			}
		}
	}
	if n < 30 {
		t.Errorf("%d commands were checked", n)
	}
}

// parse finds a command, and parses its flags and arguments, without running it.
func parse(args []string) error {
	root := newRoot(shell.NewConsole("kazahana", nil, Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if !cmd.Runnable() {
		return errors.New("it is a group of commands")
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}
