// SPDX-License-Identifier: Apache-2.0

// Command persistgen writes typed stores for annotated structs: one
// <package>_persist.go and one persist.lock beside the source.
//
//	//go:generate go tool persistgen
//
// See the package codegen for the annotations.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/kazahana-db/kazahana/codegen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with everything it uses as arguments. It returns the exit code:
// 0, 1 for faults, 2 for wrong usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := codegen.Options{Stdout: stdout, Stderr: stderr}
	flags := flag.NewFlagSet("persistgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.Check, "check", false, "write nothing; print what is out of date as a diff and exit with 1")
	flags.BoolVar(&o.Fix, "fix", false, "insert ID idgen.ID where the ID field is missing")
	flags.BoolVar(&o.Explain, "explain", false, "print what each method costs; write nothing")
	flags.BoolVar(&o.Proto, "proto", false, "also write <package>.proto")
	flags.StringVar(&o.Tags, "tags", "", "build `tags`, separated by commas")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: persistgen [flags] [packages]")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		return 2
	}
	o.Patterns = flags.Args()
	if err := o.Validate(); err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	if err := codegen.Run(ctx, o); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}
