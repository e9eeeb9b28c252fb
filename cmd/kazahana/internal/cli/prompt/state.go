// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/explain"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Root returns the root of all commands, for one run of one of them.
type Root func(*shell.Console) *cobra.Command

// Command returns kazahana shell.
func Command(c *shell.Console, root Root) *cobra.Command {
	return &cobra.Command{
		Use: "shell", Short: "A prompt for all commands, on a database that stays open", Args: shell.Arguments(cobra.NoArgs),
		Long: `A prompt for all commands, without the word kazahana, on a database that stays open: for reading until
a command writes to it, then for writing. Tab completes commands, flags, paths and types; Ctrl-C ends the
command that runs, or clears the line; Ctrl-D or exit ends the shell.

cd enters a directory, from which paths without a leading slash begin; pwd shows it. Words with spaces
stand in 'quotes' or "quotes"; a backslash is an ordinary character there.

Without a terminal the lines of the input run one after another, until the first that fails; its exit
code is that of the shell. What follows # is a comment. Commands do not read the input: record put needs a
FILE, and what asks needs --yes. The last 1,000 lines that were typed at a terminal
are kept in kazahana/history in the folder XDG_STATE_HOME, or ~/.local/state.
` + database.About,
		Example: "  kazahana shell --db data\n  kazahana shell --db data < commands.txt\n  echo 'dir tree --sizes' | kazahana shell --cluster-file fdb.cluster --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			session, err := database.NewSession(cmd)
			if err != nil {
				return err
			}
			s := &state{console: c, root: root, session: session, ctx: session.Attach(context.WithoutCancel(cmd.Context()))}
			if c.Interactive() {
				err = s.talk(cmd.Context())
			} else {
				err = s.runInput(cmd.Context())
			}
			return errors.Join(err, session.Close())
		},
	}
}

// state is a shell that runs.
type state struct {
	console *shell.Console
	root    Root
	session *database.Session
	ctx     context.Context // of commands; the signals of the process do not end it
	ended   bool            // exit was called
}

// runInput runs the lines of the input, until one fails.
func (s *state) runInput(ctx context.Context) error {
	in := newScript(s.console.In)
	defer in.close()
	for n := 1; !s.ended; n++ {
		line, err := in.readLine(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && (err != io.EOF || line == "") {
			return ignoreEOF(err)
		}
		words, err := split(line)
		if err != nil {
			return shell.Invalid(fmt.Errorf("line %d: %w", n, err))
		}
		if len(words) == 0 {
			continue
		}
		// a signal of the process ends the command, and with it the shell
		ctx := s.session.Attach(ctx)
		if err := s.run(ctx, s.console.Again(words, shell.NoInput), words); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("reading the input: %w", err)
}

// run runs the command of a line.
func (s *state) run(ctx context.Context, c *shell.Console, words []string) error {
	root := s.newRoot(c)
	root.SetArgs(words)
	return root.ExecuteContext(ctx)
}

// newRoot returns the root of the commands of one line. Commands keep what their flags
// say, so each line has a root of its own.
func (s *state) newRoot(c *shell.Console) *cobra.Command {
	root := s.root(c)
	for _, cmd := range root.Commands() {
		if cmd.Name() == "shell" || cmd.Name() == "completion" {
			root.RemoveCommand(cmd)
		}
	}
	root.AddCommand(s.cdCommand(), s.pwdCommand(c), s.exitCommand())
	return root
}

// fail reports the error of a command, and stays in the shell.
func (s *state) fail(c *shell.Console, err error) {
	c.Fail(explain.Error(err), explain.ExitCode(err))
}
