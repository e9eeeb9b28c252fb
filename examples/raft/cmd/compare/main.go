// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
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
