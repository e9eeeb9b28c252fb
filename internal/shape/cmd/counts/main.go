// SPDX-License-Identifier: Apache-2.0

// Command counts prints what package shape counts, for the folder and all below
// it, and with -v where each finding is.
//
//	go run ./internal/shape/cmd/counts [-v] [FOLDER]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/kazahana-db/kazahana/internal/shape"
)

func main() {
	verbose := flag.Bool("v", false, "print where each finding is")
	flag.Parse()
	folder := "."
	if flag.NArg() > 0 {
		folder = flag.Arg(0)
	}
	files, err := shape.Load(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "counts:", err)
		os.Exit(1)
	}
	if *verbose {
		list(os.Stdout, files)
	}
	summarize(os.Stdout, files)
}

// list prints each finding in a line of its own.
func list(w io.Writer, files []*shape.File) {
	for _, m := range shape.Methods(shape.WithoutTests(files)) {
		if m.Away {
			fmt.Fprintf(w, "%v: method away from its type: %s.%s\n", m.Position, m.Type, m.Name)
		}
	}
	for _, t := range shape.Types(files) {
		if t.Participle {
			fmt.Fprintf(w, "%v: type named by a participle: %s\n", t.Position, t.Name)
		}
	}
	for _, s := range shape.Sentences(files) {
		if s.Vague {
			fmt.Fprintf(w, "%v: sentence about who: %s\n", s.Position, s.Text)
		}
	}
	for _, b := range shape.Bounds(files) {
		for _, where := range b.Where {
			fmt.Fprintf(w, "%s (%s)\n", where, b.Name)
		}
	}
}

// summarize prints one line for each count.
func summarize(w io.Writer, files []*shape.File) {
	c := shape.Count(files)
	fmt.Fprintf(w, "methods outside their type's file  %5d of %5d  %5.1f %%  (below 10)\n", c.Away, c.Methods, shape.Percent(c.Away, c.Methods))
	fmt.Fprintf(w, "types named by a participle        %5d of %5d           (0)\n", c.Participles, c.Types)
	fmt.Fprintf(w, "sentences about who, nobody, …     %5d of %5d  %5.2f %%  (below 0.2)\n", c.Vague, c.Sentences, shape.Percent(c.Vague, c.Sentences))
	fmt.Fprintf(w, "unexported methods of one word     %5d of %5d  %5.1f %%\n", c.OneWord, c.Unexported, shape.Percent(c.OneWord, c.Unexported))
	print := func(name string, all []shape.Length) {
		fmt.Fprintf(w, "lines of a %-22s  median %d, nine in ten up to %d, at most %d\n", name, shape.Percentile(all, 50), shape.Percentile(all, 90), shape.Percentile(all, 100))
	}
	print("file", shape.FileLengths(files))
	print("function", shape.FunctionLengths(files))
	for _, b := range shape.Bounds(files) {
		fmt.Fprintf(w, "%-45s %7d  %s\n", b.Name, b.Value, bound(b))
	}
}

// bound says what a number may be, and whether it is more.
func bound(b shape.Bound) string {
	switch {
	case b.Most < 0:
		return ""
	case b.Met():
		return fmt.Sprintf("(at most %d)", b.Most)
	}
	return fmt.Sprintf("(at most %d) TOO MANY", b.Most)
}
