// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
)

// commandUsage is the head of persistgen's help.
const commandUsage = `usage: persistgen [flags] [packages]

persistgen writes the typed stores of annotated structs: <package>_persist.go
and persist.lock in the folder of each package. Without arguments it takes the
package in the working directory; ./... names all packages of the module.

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

// graphFlag is the flag -graph, alone or with a language.
type graphFlag struct{ language *string }

// String returns the language.
func (f *graphFlag) String() string {
	if f.language == nil {
		return ""
	}
	return *f.language
}

// Set takes the language; the flag package says "true" for the flag alone.
func (f *graphFlag) Set(text string) error {
	switch text {
	case "true":
		text = GraphMermaid
	case "false":
		text = ""
	}
	*f.language = text
	return nil
}

// IsBoolFlag tells the flag package that the flag may stand alone.
func (f *graphFlag) IsBoolFlag() bool { return true }

// Diagnostic is one fault in the annotated source, with the place where it is
// to be mended.
type Diagnostic struct {
	File    string // slash-separated, relative to the working directory where that is shorter
	Line    int    // from 1; 0 if the fault is in no line, but in the folder File
	Column  int    // from 1, in bytes; 0 if the fault is in no line
	Subject string // "Type" or "Type.Field"; may be empty
	Message string // what is wrong, and the remedy
}

// String formats the diagnostic as "file:line:col: Type.Field: message".
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d", d.Line)
	}
	if d.Column > 0 {
		fmt.Fprintf(&b, ":%d", d.Column)
	}
	if d.File != "" {
		b.WriteString(": ")
	}
	if d.Subject != "" {
		b.WriteString(d.Subject + ": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// Diagnostics is every fault of a run, sorted by file, line and column. It is
// the error that [Run] returns for faults in the source.
type Diagnostics []Diagnostic

// Error returns the faults, one a line.
func (d Diagnostics) Error() string {
	lines := make([]string, len(d))
	for i, one := range d {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// newDiagnostics sorts faults and removes repetitions.
func newDiagnostics(list []diagnostic.Fault) Diagnostics {
	var d Diagnostics
	for _, one := range list {
		d = append(d, newDiagnostic(one))
	}
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(d)
}

func newDiagnostic(f diagnostic.Fault) Diagnostic {
	return Diagnostic{File: f.At.Filename, Line: f.At.Line, Column: f.At.Column, Subject: f.Subject, Message: f.Message}
}
