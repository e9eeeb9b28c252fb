// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/kazahana-db/kazahana/persistvet"
)

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
