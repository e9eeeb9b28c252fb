// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/kazahana-db/kazahana/persistvet"
)

// tool analyzes a package for go vet, which takes the flags from it. Go vet cannot leave out
// tests, so the tool does.
func tool() {
	tests := flag.Bool("tests", true, "look at tests, too")
	for _, a := range persistvet.Analyzers() {
		a.Run = withoutTests(a.Run, tests)
	}
	unitchecker.Main(persistvet.Analyzers()...)
}

// withoutTests returns a function that runs an analyzer, and reports nothing in files of
// tests unless tests is set.
func withoutTests(run func(*analysis.Pass) (any, error), tests *bool) func(*analysis.Pass) (any, error) {
	return func(pass *analysis.Pass) (any, error) {
		own := *pass
		own.Report = func(d analysis.Diagnostic) {
			if *tests || !strings.HasSuffix(pass.Fset.Position(d.Pos).Filename, "_test.go") {
				pass.Report(d)
			}
		}
		return run(&own)
	}
}
