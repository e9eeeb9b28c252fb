// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	runs := flag.Int("runs", 2000, "crashes for each figure")
	flag.Parse()
	if *runs < 1 {
		fmt.Fprintf(os.Stderr, "compare: -runs is %d: it must be at least 1\n", *runs)
		os.Exit(2)
	}
	if err := compare(os.Stdout, contests, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// compare prints a table for each contest.
func compare(w io.Writer, contests []contest, runs int) error {
	fmt.Fprintf(w, "Five nodes, virtual time, %d crashes of a leader for each figure: median / p99 in ms until another leads;\n", runs)
	fmt.Fprintln(w, "elections begun for each crash; elections begun in an hour while there was a leader.")
	for _, c := range contests {
		if err := c.print(w, runs); err != nil {
			return err
		}
	}
	return nil
}

func (c contest) print(w io.Writer, runs int) error {
	fmt.Fprintf(w, "\n| %s |", c.about)
	for _, e := range c.entrants {
		fmt.Fprintf(w, " %s |", e.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(c.entrants)))
	for _, sticky := range []bool{false, true} {
		for _, s := range allSurroundings {
			if err := c.printRow(w, s, sticky, runs); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c contest) printRow(w io.Writer, s surroundings, sticky bool, runs int) error {
	suffix := ""
	if sticky {
		suffix = "; CheckQuorum, PreVote"
	}
	fmt.Fprintf(w, "| %s%s |", s.name, suffix)
	for _, e := range c.entrants {
		f, err := measure(e.options(s, sticky), runs)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, e.name, err)
		}
		fmt.Fprintf(w, " %d / %d; %.2f; %.0f |", f.median.Milliseconds(), f.p99.Milliseconds(), f.elections, f.needless)
	}
	_, err := fmt.Fprintln(w)
	return err
}
