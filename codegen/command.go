// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// commandUsage is the head of persistgen's help.
const commandUsage = `usage: persistgen [flags] [packages]

persistgen writes the typed stores of annotated structs: <package>_persist.go
and persist.lock beside the source of each package. Without packages it takes
the one in the working directory; ./... are all of the module.

    persistgen ./...                          write the stores
    persistgen -check -against v1.2.0 ./...   in CI: v1.2.0 is deployed
    persistgen -explain ./...                 what do the methods cost?

docs/tags.md describes the tags, docs/persistgen.md the command.

`

// Command is the command persistgen with its arguments, without the program's
// name. It returns the exit code: 0, 1 for faults and for files that are out of
// date, 2 for wrong usage.
func Command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return runCommand(ctx, args, Options{Stdout: stdout, Stderr: stderr})
}

// runCommand is Command with options that no flag sets.
func runCommand(ctx context.Context, args []string, o Options) int {
	flags := flag.NewFlagSet("persistgen", flag.ContinueOnError)
	flags.SetOutput(o.Stderr)
	flags.BoolVar(&o.Check, "check", false, "write nothing; print what is out of date as a diff and exit with 1")
	flags.StringVar(&o.Against, "against", "", "with -check: also compare with the persist.lock of a `revision` of git, or with a file")
	flags.BoolVar(&o.Fix, "fix", false, "insert the line ID idgen.ID into structs without an ID field, then generate")
	flags.BoolVar(&o.Explain, "explain", false, "print what each method costs; write nothing")
	flags.BoolVar(&o.Proto, "proto", false, "also write <package>.proto")
	flags.Var(&graphFlag{&o.Graph}, "graph", "print the types with directories and indexes as a graph for Mermaid, or with -graph=dot for Graphviz; write nothing")
	flags.StringVar(&o.GraphInto, "graph-into", "", "also write the graph into a Markdown `file`, between the lines <!-- persistgen:graph --> and <!-- /persistgen:graph -->")
	watch := flags.Bool("watch", false, "generate now, and again whenever the source changes, until Ctrl-C")
	flags.DurationVar(&o.Poll, "poll", 0, "with -watch: look at the files at this `interval`, where the file system tells of no changes")
	flags.StringVar(&o.Tags, "tags", "", "build `tags`, separated by commas")
	flags.Usage = func() {
		fmt.Fprint(o.Stderr, commandUsage)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	o.Patterns, o.absolute = flags.Args(), isGoGenerate(o.env)
	err := o.Validate()
	if *watch {
		err = errors.Join(err, o.validateWatch())
	} else if o.Poll != 0 {
		err = errors.Join(err, errors.New("persistgen: -poll goes with -watch"))
	}
	if err != nil {
		fmt.Fprintln(o.Stderr, err)
		return 2
	}
	run := Run
	if *watch {
		run = Watch
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(o.Stderr, err)
		return 1
	}
	return 0
}

// isGoGenerate reports whether go generate runs the command, which sets these variables.
func isGoGenerate(env []string) bool {
	if env == nil {
		env = os.Environ()
	}
	for _, name := range []string{"GOFILE=", "GOLINE=", "GOPACKAGE="} {
		if !slices.ContainsFunc(env, func(one string) bool { return strings.HasPrefix(one, name) && one != name }) {
			return false
		}
	}
	return true
}
