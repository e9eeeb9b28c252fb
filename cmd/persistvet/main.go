// SPDX-License-Identifier: Apache-2.0

// Command persistvet runs the analyzers of package persistvet.
//
//	go tool persistvet ./...
//	go vet -vettool=$(go tool -n persistvet) ./...
//
// The first way loads all packages at once, and sees through functions of the
// program's own module. The second one goes package by package, keeps the findings in
// Go's build cache, and sees through functions of all modules. -NAME runs the analyzer
// of that name only, -json prints JSON, -fix applies the fixes that are safe, -tests=false
// leaves out tests, -tags are those of the build; `persistvet help` describes the
// analyzers. The exit code is 0 without findings, 1 with some, 2 after an error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	args := os.Args[1:]
	switch {
	case isTool(args):
		tool()
	case slices.Contains(args, "-fix") || slices.Contains(args, "--fix"):
		os.Exit(fix(args, os.Stdout, os.Stderr))
	default:
		os.Exit(run(args, os.Stdout, os.Stderr))
	}
}

// isTool reports whether go vet runs this command, which gives the configuration of a
// package or asks for the version or the flags, or whether the arguments ask for help.
func isTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return strings.HasSuffix(last, ".cfg") || last == "-flags" || strings.HasPrefix(last, "-V") || args[0] == "help"
}

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

// fix applies fixes: go vet does that, with this command as its tool. It returns the
// exit code of go vet.
//
// Go's build cache keeps fixes with the absolute paths of the files. With -trimpath, which
// GOFLAGS may hold, the cache takes equal packages in two folders for one, and go vet
// would write the fixed file into the folder that it saw first (Go 1.26). So go vet runs
// without -trimpath.
func fix(args []string, out, problems io.Writer) int {
	self, err := os.Executable()
	if err != nil {
		return failed(problems, "find the own executable, which go vet runs", err)
	}
	cmd := exec.Command("go", append([]string{"vet", "-trimpath=false", "-vettool=" + self}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, problems
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return failed(problems, "run go vet", err)
	}
	return 0
}

// failed prints an error, and returns the exit code for it.
func failed(problems io.Writer, what string, err error) int {
	fmt.Fprintf(problems, "persistvet: %s: %v\n", what, err)
	return exitError
}
