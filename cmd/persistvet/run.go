// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// The exit codes.
const (
	exitFindings = 1
	exitError    = 2
)

// run loads the packages that the arguments name, prints the findings of the analyzers,
// and returns the exit code.
func run(args []string, out, problems io.Writer) int {
	o, err := parse(args, problems)
	if errors.Is(err, flag.ErrHelp) {
		return exitError
	}
	if err != nil {
		return exitError // the flags have printed it
	}
	pkgs, err := load(o)
	if err != nil {
		return failed(problems, "load packages", err)
	}
	if printErrors(pkgs, problems) > 0 {
		return exitError
	}
	graph, err := checker.Analyze(o.analyzers, pkgs, nil)
	if err != nil {
		return failed(problems, "analyze", err)
	}
	return print(o, graph, out, problems)
}

// printErrors prints the errors of packages and modules, and returns how many there are. It prints
// each once: a package, and the same one with its tests, both have those of its files.
func printErrors(pkgs []*packages.Package, problems io.Writer) int {
	printed := map[string]bool{}
	note := func(text string) {
		if !printed[text] {
			printed[text] = true
			fmt.Fprintln(problems, shorten(text))
		}
	}
	for p := range packages.Postorder(pkgs) {
		for _, err := range p.Errors {
			if !isCompilerOutput(err) || !slices.ContainsFunc(p.Errors, isInSource) {
				note(err.Error())
			}
		}
		if p.Module != nil && p.Module.Error != nil {
			note(p.Module.Error.Err)
		}
	}
	return len(printed)
}

// isCompilerOutput reports whether an error has all that the compiler printed for a package.
func isCompilerOutput(e packages.Error) bool {
	return e.Kind == packages.ListError && strings.HasPrefix(e.Msg, "# ")
}

func isInSource(e packages.Error) bool {
	return e.Kind == packages.ParseError || e.Kind == packages.TypeError
}

// print prints findings, to out as JSON or to problems as text, and errors.
func print(o options, graph *checker.Graph, out, problems io.Writer) (code int) {
	write := func() error { return printText(graph, problems) }
	if o.json {
		write = func() error { return graph.PrintJSON(out) }
	}
	if err := write(); err != nil {
		return failed(problems, "print findings", err)
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			fmt.Fprintf(problems, "persistvet: %v: %v\n", action, action.Err)
			return exitError
		}
		if len(action.Diagnostics) > 0 && !o.json {
			code = exitFindings
		}
	}
	return code
}

func printText(graph *checker.Graph, problems io.Writer) error {
	var text bytes.Buffer
	if err := graph.PrintText(&text, -1); err != nil {
		return err
	}
	_, err := io.WriteString(problems, shorten(text.String()))
	return err
}

// position matches the position at the beginning of a line. A tab comes before a position that belongs to the line above.
var position = regexp.MustCompile(`(?m)^(\t?)(.+?)(:\d+(?::\d+)?: )`)

// shorten writes the paths at the beginning of lines relative to the working directory where that is
// shorter, as go vet does.
func shorten(text string) string {
	dir, err := os.Getwd()
	if err != nil {
		return text
	}
	return position.ReplaceAllStringFunc(text, func(begin string) string {
		part := position.FindStringSubmatch(begin)
		if short, err := filepath.Rel(dir, part[2]); filepath.IsAbs(part[2]) && err == nil && len(short) < len(part[2]) {
			part[2] = short
		}
		return strings.Join(part[1:], "")
	})
}

// load returns the packages of the patterns, with syntax and types. The packages of the
// same module that they import have both, too, so that facts about their functions are
// known; of all others only what they export is loaded.
func load(o options) ([]*packages.Package, error) {
	named, err := packages.Load(o.config(packages.NeedName|packages.NeedImports|packages.NeedDeps|packages.NeedModule|packages.NeedForTest), o.patterns...)
	if err != nil {
		return nil, err
	}
	all, err := packages.Load(o.config(packages.LoadSyntax|packages.NeedModule), withModule(named)...)
	if err != nil {
		return nil, err
	}
	forgetForeign(all)
	wanted := map[string]bool{}
	for _, p := range named {
		wanted[p.ID] = true
	}
	return slices.DeleteFunc(all, func(p *packages.Package) bool { return !wanted[p.ID] }), nil
}

// withModule returns the paths of packages, and of those of the main module that they
// import.
func withModule(named []*packages.Package) []string {
	paths := map[string]bool{}
	add := func(p *packages.Package) {
		if p.ForTest == "" && !strings.HasSuffix(p.PkgPath, ".test") { // the load adds tests
			paths[p.PkgPath] = true
		}
	}
	for _, p := range named {
		add(p)
	}
	packages.Visit(named, nil, func(p *packages.Package) {
		if p.Module != nil && p.Module.Main {
			add(p)
		}
	})
	return slices.Sorted(maps.Keys(paths))
}

// forgetForeign removes imports of packages without syntax: the analyzers cannot run on
// them.
func forgetForeign(all []*packages.Package) {
	packages.Visit(all, nil, func(p *packages.Package) {
		maps.DeleteFunc(p.Imports, func(_ string, imported *packages.Package) bool { return len(imported.Syntax) == 0 })
	})
}

// options are what the arguments say.
type options struct {
	analyzers []*analysis.Analyzer
	patterns  []string
	json      bool
	tests     bool
	tags      string
}

// parse reads the arguments. It prints what is wrong with them.
func parse(args []string, problems io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("persistvet", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprintln(problems, "usage: persistvet [flags] packages, as in persistvet ./...\n       persistvet -fix [flags of go vet] packages: apply the fixes that are safe\n       persistvet help [analyzer]\nFlags:")
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.json, "json", false, "print the findings as JSON")
	flags.BoolVar(&o.tests, "tests", true, "look at tests, too")
	flags.StringVar(&o.tags, "tags", "", "the tags of the build, with commas")
	chosen := declare(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.analyzers, o.patterns = chosen(), flags.Args()
	if len(o.patterns) == 0 {
		flags.Usage()
		return o, flag.ErrHelp
	}
	return o, nil
}

// declare adds a flag for each analyzer, and those that analyzers have themselves. The
// function returns the analyzers that the flags chose: all if they chose none.
func declare(flags *flag.FlagSet) (chosen func() []*analysis.Analyzer) {
	wanted := map[string]*bool{}
	for _, a := range persistvet.Analyzers() {
		wanted[a.Name] = flags.Bool(a.Name, false, "run this analyzer, and no other that is not named")
		a.Flags.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, a.Name+"."+f.Name, f.Usage) })
	}
	return func() (some []*analysis.Analyzer) {
		for _, a := range persistvet.Analyzers() {
			if *wanted[a.Name] {
				some = append(some, a)
			}
		}
		if some == nil {
			return persistvet.Analyzers()
		}
		return some
	}
}

// config is how packages are loaded.
func (o *options) config(mode packages.LoadMode) *packages.Config {
	c := &packages.Config{Mode: mode, Tests: o.tests}
	if o.tags != "" {
		c.BuildFlags = []string{"-tags=" + o.tags}
	}
	return c
}
