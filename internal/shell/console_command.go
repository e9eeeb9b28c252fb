// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/spf13/cobra"
)

// Prepare makes a command the root of all others: it adds the flag --json, help
// and completion, and makes what cobra says of flags an error of misuse.
func (c *Console) Prepare(root *cobra.Command) {
	root.SetHelpCommand(help())
	root.Version = Version()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.PersistentFlags().BoolVar(&c.JSON, "json", c.JSON, "write one JSON object a line; errors as JSON too")
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Args, completion.RunE = cobra.ArbitraryArgs, helpAlone
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Misuse(cmd, err) })
}

// Group is a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: helpAlone,
	}
	g.AddCommand(commands...)
	return g
}

// helpAlone shows the help of a command that only has subcommands, unless one is
// asked for that there is not.
func helpAlone(cmd *cobra.Command, args []string) error {
	if err := OnlyCommands(cmd, args); err != nil {
		return err
	}
	return cmd.Help()
}

// OnlyCommands checks the arguments of a command that has subcommands and takes
// no arguments of its own: what is left is a command that there is not.
func OnlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Misuse(cmd, fmt.Errorf("unknown command %q%s", args[0], suggestion(cmd, args[0])))
	}
	return nil
}

// help is the command that shows the help of another one.
func help() *cobra.Command {
	return &cobra.Command{
		Use: "help [command...]", Short: "Help about any command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, sub := range about.Commands() {
					words = append(words, sub.Name())
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return Misuse(cmd.Root(), fmt.Errorf("there is no help about %q, which is not a command", strings.Join(args, " ")))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// suggestion proposes the command that is one edit away from a word. One further away may
// be a command that changes data, which the user did not mean.
func suggestion(cmd *cobra.Command, word string) string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
			names = append(names, sub.Aliases...)
		}
	}
	if near, distance := nearest.Word(word, names); near != "" && distance <= 1 {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// Arguments makes a check of the number of arguments one of use. Its error names the
// argument that is missing, by the command's line of use, and has an example.
func Arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		switch required, all := positional(cmd); {
		case len(args) < len(required):
			err = fmt.Errorf("%s is missing: %s %s%s", required[len(args)], cmd.CommandPath(), strings.Join(all, " "), example(cmd))
		case len(args) > len(all) && len(all) > 0:
			err = fmt.Errorf("%q is too much: %s %s%s", args[len(all)], cmd.CommandPath(), strings.Join(all, " "), example(cmd))
		case len(args) > 0 && len(strings.Fields(cmd.Use)) == 1 && !cmd.HasSubCommands():
			err = fmt.Errorf("%q is too much: %s takes flags only%s", args[0], cmd.CommandPath(), example(cmd))
		}
		return Misuse(cmd, err)
	}
}

// positional returns the arguments in a command's line of use: those that it must have, and
// with these the optional ones. Options, and what may be given by one, are not among them.
func positional(cmd *cobra.Command) (required, all []string) {
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "(") {
			break
		}
		if !strings.HasPrefix(word, "[") {
			required = append(required, word)
		}
		all = append(all, word)
	}
	return required, all
}

// example returns the first example of a command's help, as the end of a sentence.
func example(cmd *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if line == "" {
		return ""
	}
	return ", for example: " + line
}

// The exit codes that all commands share. They stay as they are: scripts depend
// on them.
const (
	ExitDone    = 0 // done
	ExitFailed  = 1 // the clock, a file, the network, a server or a store
	ExitMisuse  = 2 // an unknown command or flag, a missing argument, options that do not go together
	ExitInvalid = 3 // input that is not what it should be
)

// ExitError is an error with an exit code of its own.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the code.
func (e *ExitError) Unwrap() error { return e.Err }

// Code returns the exit code of an error.
func Code(err error) int {
	var coded *ExitError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &coded):
		return coded.Code
	}
	return ExitFailed
}

// Misuse says that a command was not used as it should be.
func Misuse(cmd *cobra.Command, err error) error {
	return &ExitError{ExitMisuse, fmt.Errorf("%w\nsee %s --help", err, cmd.CommandPath())}
}

// AtLeast refuses the number or duration of a flag that is below the least that means anything.
func AtLeast[N int | int64 | float64 | time.Duration](cmd *cobra.Command, flag string, value, least N) error {
	if value >= least {
		return nil
	}
	return Misuse(cmd, fmt.Errorf("--%s is %v: it must be at least %v", flag, value, least))
}

// Invalid says that input is wrong.
func Invalid(err error) error { return &ExitError{ExitInvalid, err} }
