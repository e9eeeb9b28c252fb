// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/nearest"
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
				return Misuse(cmd.Root(), fmt.Errorf("there is no help about %q, which is no command", strings.Join(args, " ")))
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

// VersionCommand is the command that shows the version of the program.
func (c *Console) VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of the program", Args: Arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.Write(version{c.Name, Version()}) },
	}
}

type version struct {
	program string
	Version string `json:"version"`
}

// Lines implements [Result].
func (v version) Lines() []string { return []string{v.program + " " + v.Version} }

// Version is that of the module, with the commit where it was built from one.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
