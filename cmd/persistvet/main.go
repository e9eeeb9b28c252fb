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
	"os"
	"slices"
	"strings"
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
