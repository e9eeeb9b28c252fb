// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// shellDialog is the shell of a person at a terminal.
type shellDialog struct {
	*shellState
	terminal *os.File // what is typed
	out      *os.File // the prompt
	in       *shellInput
	history  *shellHistory
	signals  chan os.Signal
}

// talk runs lines that are typed, until the shell is ended.
func (s *shellState) talk(ctx context.Context) error {
	terminal, out := s.console.Terminals()
	d := &shellDialog{shellState: s, terminal: terminal, out: out, in: &shellInput{from: terminal}, signals: make(chan os.Signal, 1)}
	var err error
	if d.history, err = loadHistory(); err != nil {
		fmt.Fprintln(s.console.Err, err)
	}
	signal.Notify(d.signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(d.signals)
	for !s.ended {
		line, err := d.readLine()
		switch {
		case errors.Is(err, errInterrupted):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if d.runLine(line) == syscall.SIGTERM {
			return context.Cause(ctx)
		}
	}
	return nil
}

// errInterrupted says that Ctrl-C has cleared a line.
var errInterrupted = errors.New("interrupted")

// readLine reads a line. The terminal is in raw mode until it returns.
func (d *shellDialog) readLine() (string, error) {
	was, err := term.MakeRaw(int(d.terminal.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(d.terminal.Fd()), was)
	line, err := d.editLine()
	if errors.Is(err, io.EOF) && d.in.interrupted {
		d.in.interrupted = false
		fmt.Fprint(d.out, "^C\r\n")
		return "", errInterrupted
	}
	if errors.Is(err, io.EOF) {
		fmt.Fprint(d.out, "\r\n")
	}
	return line, err
}

// editLine lets a person edit a line, until a key or a signal ends it.
func (d *shellDialog) editLine() (string, error) {
	t := term.NewTerminal(readWriter{d.in, d.out}, d.prompt())
	t.History = d.history
	if width, height, err := term.GetSize(int(d.out.Fd())); err == nil && width > 0 {
		_ = t.SetSize(width, height) // the terminal's size is known
	}
	t.AutoCompleteCallback = func(line string, cursor int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		completed, at, choice := d.complete(line, cursor)
		if len(choice) > 0 {
			fmt.Fprintln(t, strings.Join(choice, "  "))
		}
		return completed, at, true
	}
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := t.ReadLine()
		read <- result{line, err}
	}()
	for {
		select {
		case r := <-read:
			return r.line, r.err
		case s := <-d.signals:
			if s == syscall.SIGTERM {
				return "", io.EOF // the process ends, and with it the read
			}
		}
	}
}

func (d *shellDialog) prompt() string {
	return "kazahana /" + strings.TrimPrefix(database.FormatPath(d.session.Path()), "/") + "> "
}

// runLine runs a line. Ctrl-C ends the command and not the shell. The signal is the one
// that has ended the command, or nil.
func (d *shellDialog) runLine(line string) (ended os.Signal) {
	words, err := splitWords(line)
	if err == nil && len(words) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	c := d.console.Again(words, commandInput{d.in, ctx})
	if err != nil {
		d.fail(c, shell.Invalid(err))
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- d.run(ctx, c, words) }()
	for {
		select {
		case err := <-done:
			if ended != nil {
				err = errors.Join(err, errors.New("the command was interrupted"))
			}
			if err != nil {
				d.fail(c, err)
			}
			return ended
		case ended = <-d.signals:
			cancel()
		}
	}
}

// readWriter is a terminal.
type readWriter struct {
	io.Reader
	io.Writer
}

// rootFunc returns the root of all commands, for one run of one of them.
type rootFunc func(*shell.Console) *cobra.Command

// shellCommand returns kazahana shell.
func shellCommand(c *shell.Console, root rootFunc) *cobra.Command {
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
			s := &shellState{console: c, root: root, session: session, ctx: session.Attach(context.WithoutCancel(cmd.Context()))}
			if c.Interactive() {
				err = s.talk(cmd.Context())
			} else {
				err = s.runInput(cmd.Context())
			}
			return errors.Join(err, session.Close())
		},
	}
}

// shellState is a shell that runs.
type shellState struct {
	console *shell.Console
	root    rootFunc
	session *database.Session
	ctx     context.Context // of commands; the signals of the process do not end it
	ended   bool            // exit was called
}

// runInput runs the lines of the input, until one fails.
func (s *shellState) runInput(ctx context.Context) error {
	in := newShellScript(s.console.In)
	defer in.close()
	for n := 1; !s.ended; n++ {
		line, err := in.readLine(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && (err != io.EOF || line == "") {
			return ignoreEOF(err)
		}
		words, err := splitWords(line)
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
func (s *shellState) run(ctx context.Context, c *shell.Console, words []string) error {
	root := s.newRoot(c)
	root.SetArgs(words)
	return root.ExecuteContext(ctx)
}

// newRoot returns the root of the commands of one line. Commands keep what their flags
// say, so each line has a root of its own.
func (s *shellState) newRoot(c *shell.Console) *cobra.Command {
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
func (s *shellState) fail(c *shell.Console, err error) {
	c.Fail(explainError(err), exitCode(err))
}

func (s *shellState) cdCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cd [PATH]", Short: "Enter a directory; without a path, the root", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long:              "Enter a directory, from which paths without a leading slash begin.",
		Example:           "  cd tenants/tenant-1\n  cd ..",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, "")
			if text == "" {
				text = "/"
			}
			path, err := database.ParsePath(cmd, text)
			if err != nil {
				return err
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				exists, err := db.Layer().Exists(ctx, db.Engine(), path)
				switch {
				case errors.Is(err, directory.ErrPath):
					return shell.Invalid(err)
				case err != nil:
					return err
				case !exists:
					return database.MissingDirectory(ctx, db, path)
				}
				s.session.SetPath(path)
				return nil
			})
		},
	}
}

func (s *shellState) pwdCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "pwd", Short: "Show the directory from which paths begin", Args: shell.Arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return c.Write(workingDirectory{"/" + strings.TrimPrefix(database.FormatPath(s.session.Path()), "/")})
		},
	}
}

// workingDirectory is the working directory.
type workingDirectory struct {
	Path string `json:"path"`
}

// Lines implements [shell.Result].
func (p workingDirectory) Lines() []string { return []string{p.Path} }

func (s *shellState) exitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "exit", Aliases: []string{"quit"}, Short: "End the shell", Args: shell.Arguments(cobra.NoArgs),
		Run: func(*cobra.Command, []string) { s.ended = true },
	}
}

// completions returns the words that can stand where the last word is being typed, and
// whether a space follows a word that is complete. They are those that the commands
// complete for other shells, too.
func (s *shellState) completions(words []string, word string) (all []string, space bool) {
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
func (s *shellState) complete(line string, cursor int) (completed string, at int, choice []string) {
	words, word, begin := splitPartial(line[:cursor])
	all, space := s.completions(words, word)
	if len(all) == 0 {
		return line, cursor, nil
	}
	common := all[0]
	for _, other := range all[1:] {
		common = commonPrefix(common, other)
	}
	text := quoteWord(common)
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
