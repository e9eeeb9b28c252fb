// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// Command is the program of that name, which runs stages as its flags say and prints
// the times that it found. With -write it puts them in a file, in the section that has the
// command's name.
func Command(name string, stages []Stage) {
	c := command{name: name}
	run := flag.String("run", "", "`stage[/contest]`: regular expressions of what to run")
	flag.IntVar(&c.Rounds, "rounds", 7, "rounds of each contest")
	flag.DurationVar(&c.Span, "span", 200*time.Millisecond, "length of a round")
	flag.StringVar(&c.Dir, "dir", "", "`folder` for stores; its disk is what is measured")
	flag.StringVar(&c.write, "write", "", "`file` in which to put the report")
	flag.Parse()
	if err := c.runCommand(*run, stages); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

type command struct {
	Runner
	name, write string
}

func (c *command) runCommand(run string, stages []Stage) (err error) {
	begin := time.Now()
	c.Progress = func(what string) {
		fmt.Fprintf(os.Stderr, "%6.1fs %s\n", time.Since(begin).Seconds(), what)
	}
	stage, contest, _ := strings.Cut(run, "/")
	if c.Stages, err = regexp.Compile(stage); err != nil {
		return err
	}
	if c.Contests, err = regexp.Compile(contest); err != nil {
		return err
	}
	results, err := c.Run(stages)
	report := ReportTimes(results, c.Rounds)
	if len(results) > 0 {
		fmt.Print(report)
	}
	if err != nil || c.write == "" {
		return err
	}
	return WriteSection(c.write, c.name, report)
}
