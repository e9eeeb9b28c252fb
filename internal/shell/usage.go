// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

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
