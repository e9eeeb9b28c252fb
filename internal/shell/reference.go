// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Reference returns a section in Markdown about a command and each of those below it: what
// they do, an example, and their flags.
func Reference(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s.\n", root.Name(), root.Short)
	writeFlags(&b, "flag of all commands", root.PersistentFlags())
	writeCommands(&b, root)
	return b.String()
}

func writeCommands(b *strings.Builder, parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		switch {
		case !cmd.IsAvailableCommand() || cmd.Name() == "completion":
		case cmd.HasSubCommands() && cmd.Example == "":
			writeCommands(b, cmd)
		default:
			writeCommand(b, cmd)
			writeCommands(b, cmd)
		}
	}
}

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	fmt.Fprintf(b, "\n### %s\n\n%s.", cmd.CommandPath(), cmd.Short)
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, " Also `%s`.", strings.Join(cmd.Aliases, "`, `"))
	}
	fmt.Fprintf(b, "\n\n```sh\n%s\n", use)
	for line := range strings.Lines(cmd.Example) {
		fmt.Fprintf(b, "%s\n", strings.TrimSpace(line))
	}
	b.WriteString("```\n")
	writeFlags(b, "flag", cmd.LocalNonPersistentFlags())
}

// writeFlags writes a table of flags, if there are any.
func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, "\n| %s | meaning |\n|---|---|\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, meaning := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, "| `%s` | %s%s |\n", name, strings.ReplaceAll(meaning, "|", `\|`), defaultOf(f))
	})
}

// defaultOf is what follows the meaning of a flag, if it has a value where it is not given.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return fmt.Sprintf(" (default `%s`)", f.DefValue)
}
