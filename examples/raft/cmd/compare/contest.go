// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/sim"
	"github.com/kazahana-db/kazahana/rafttimer"
)

const ms = time.Millisecond

// entrant is a way to time elections and heartbeats.
type entrant struct {
	name   string
	timing rafttimer.Config
	ticks  *sim.Ticks
}

// contest is a set of entrants. Their election timeouts have the same mean, except those that say
// otherwise.
type contest struct {
	about    string
	entrants []entrant
}

// A contact falls between two ticks, so that k ticks after it are k ticks of time or up to one less: 10
// to 19 ticks of 16 ms are 144 ms to 304 ms, 224 ms in the mean.
var contests = []contest{
	{"Timeouts of 225 ms in the mean", []entrant{
		{"rafttimer, 150–300 ms, beat 50 ms", rafttimer.Config{}, nil},
		{"… stalls from 150 ms on", rafttimer.Config{StallThreshold: 150 * ms}, nil},
		{"10–19 ticks of 16 ms, beat 48 ms", rafttimer.Config{}, &sim.Ticks{Every: 16 * ms, Election: 10, Heartbeat: 3}},
		{"4–7 ticks of 45 ms, beat 45 ms", rafttimer.Config{}, &sim.Ticks{Every: 45 * ms, Election: 4, Heartbeat: 1}},
		{"2–3 ticks of 112 ms, beat 112 ms", rafttimer.Config{}, &sim.Ticks{Every: 112 * ms, Election: 2, Heartbeat: 1}},
		{"10–19 ticks of 15 ms (mean 210 ms), beat 45 ms", rafttimer.Config{}, &sim.Ticks{Every: 15 * ms, Election: 10, Heartbeat: 3}},
	}},
	{"Timeouts of 1.4 s in the mean, etcd's defaults", []entrant{
		{"rafttimer, 0.9–1.9 s, beat 100 ms", seconds, nil},
		{"10–19 ticks of 100 ms, beat 100 ms", seconds, &sim.Ticks{Every: 100 * ms, Election: 10, Heartbeat: 1}},
	}},
}

var seconds = rafttimer.Config{ElectionTimeoutMin: 900 * ms, ElectionTimeoutMax: 1900 * ms, HeartbeatInterval: 100 * ms}

// surroundings are the network and the clocks of a group.
type surroundings struct {
	name    string
	options sim.Options
}

var allSurroundings = []surroundings{
	{"messages take 1–5 ms", sim.Options{Network: network(1, 5, 0)}},
	{"5–20 ms", sim.Options{Network: network(5, 20, 0)}},
	{"5–20 ms, 10 % are lost", sim.Options{Network: network(5, 20, 0.1)}},
	{"… and clocks drift ±20 %", sim.Options{Network: network(5, 20, 0.1), Drift: 0.2}},
	{"… and each node stands still up to 300 ms every 2 s", sim.Options{Network: network(5, 20, 0.1), Drift: 0.2, Hiccup: 2 * time.Second, HiccupFor: 300 * ms}},
}

func network(minimum, maximum time.Duration, loss float64) sim.Network {
	return sim.Network{MinDelay: minimum * ms, MaxDelay: maximum * ms, Loss: loss}
}

// runOptions returns the options of a run.
func (e entrant) runOptions(s surroundings, sticky bool) sim.Options {
	o := s.options
	o.Timing, o.Ticks, o.Sticky = e.timing, e.ticks, sticky
	return o
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
		f, err := measure(e.runOptions(s, sticky), runs)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, e.name, err)
		}
		fmt.Fprintf(w, " %d / %d; %.2f; %.0f |", f.median.Milliseconds(), f.p99.Milliseconds(), f.elections, f.needless)
	}
	_, err := fmt.Fprintln(w)
	return err
}
