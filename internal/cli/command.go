// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

const about = `kazahana makes and reads kazahana IDs, and serves the leases under which they are unique.

Results are lines of text, or with --json one JSON object a line. Exit codes:
  0  done
  1  failed: the clock, a file, the network, a server or a store
  2  wrong use: an unknown command or flag, a missing argument, options that do not go together
  3  invalid input: no ID, no external ID, no key, no lease
  4  there is no such lease, or it is not the caller's to release`

// Run runs the command with the arguments that follow its name, and returns
// its exit code. It ends early, in order, when ctx does.
func Run(ctx context.Context, args []string, streams Streams) int {
	c := &command{Streams: streams, json: asksForJSON(args)}
	c.Out, c.Err = printable{streams.Out, &c.json}, printable{streams.Err, &c.json}
	root := c.root()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return c.fail(err)
	}
	return ExitDone
}

// asksForJSON looks for --json before flags are parsed: what is wrong with them
// is JSON then, too.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// command is one run.
type command struct {
	Streams
	json bool
}

func (c *command) root() *cobra.Command {
	root := group("kazahana", "Make and read kazahana IDs, serve their leases", c.id(), c.lease())
	root.SetHelpCommand(help())
	root.Long = about
	root.Version = version()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.PersistentFlags().BoolVar(&c.json, "json", c.json, "write one JSON object a line; errors as JSON too")
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Args, completion.RunE = cobra.ArbitraryArgs, helpAlone
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misuse(cmd, err) })
	return root
}

// group is a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: helpAlone,
	}
	g.AddCommand(commands...)
	return g
}

// helpAlone shows the help of a command that only has subcommands, unless one is
// asked for that there is not.
func helpAlone(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse(cmd, fmt.Errorf("unknown command %q%s", args[0], suggestion(cmd, args[0])))
	}
	return cmd.Help()
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
				return misuse(cmd.Root(), fmt.Errorf("there is no help about %q, which is no command", strings.Join(args, " ")))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

func suggestion(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf(": did you mean %q?", near[0])
	}
	return ""
}

// arguments makes a check of the number of arguments one of use.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return misuse(cmd, err)
		}
		return nil
	}
}

// version is that of the module, with the commit where it was built from one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
