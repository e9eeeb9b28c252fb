// SPDX-License-Identifier: Apache-2.0

// Package difftest runs random programs on two engines and reports where their
// answers differ.
//
//	func TestDifferential(t *testing.T) {
//		right, mine := openReference(t), openEngine(t)
//		difftest.Run(t, right, mine, difftest.Options{
//			Seed:     rand.Uint64(),
//			Programs: 1000,
//			Names:    [2]string{"reference", "mine"},
//		})
//	}
//
// A program with answers that differ is shrunk by delta debugging (Zeller and
// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
package difftest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// Options say which programs [Run] runs. The zero value is
// a good choice for engines that answer at once.
type Options struct {
	// Seed fixes the programs.
	Seed uint64
	// Programs is how many to run. 0 means 300.
	Programs int
	// First is the number of the first one, to repeat a single program of a seed.
	First int
	// Steps is how many calls a program makes, about. 0 means 40.
	Steps int
	// Names are what the report calls the engines. The default is "a" and "b".
	Names [2]string
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	for name, n := range map[string]int{"Programs": o.Programs, "First": o.First, "Steps": o.Steps} {
		if n < 0 {
			faults = append(faults, fmt.Errorf("difftest: Options.%s is %d, must not be negative", name, n))
		}
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Programs == 0 {
		o.Programs = 300
	}
	if o.Steps == 0 {
		o.Steps = 40
	}
	if o.Names == [2]string{} {
		o.Names = [2]string{"a", "b"}
	}
	return o
}

// Counts is what a run of [Run] came to.
type Counts struct {
	Programs, Steps int
	// Again counts programs that ran again because an engine was late: a
	// transaction expired, or the outcome of a commit was unknown.
	Again int
	// Different counts programs with answers that differed.
	Different int
}

// mostFinds is how many differing programs are made small before Run
// gives up.
const mostFinds = 10

// Run runs random programs on two engines and fails the test where
// they do not answer alike: results, error codes, conflict ranges, sizes, and
// the contents afterwards.
//
// A program is up to four transactions with interleaved calls: reads in all
// their forms, writes, atomic operations with operands of all lengths,
// versionstamps, watches, conflict ranges, options, illegal keys and ranges, sizes
// about the limits, and transactions that are used before, during and after their
// commit, reset, cancelled and given errors. Each call waits for the answer of the
// one before, so what happens does not depend on time. Versions are compared by
// what they are relative to, versionstamps by the commit that made them.
//
// A program that differs is made as small as can be and printed twice: for
// reading, and as the line of testdata/finds.jsonl that holds it for good, with
// the answers of a. So let a be the engine that is right.
//
// It replaces everything below \xff in both engines; nothing else may use them at the same time.
func Run(t testing.TB, a, b kv.Database, o Options) Counts {
	t.Helper()
	if err := o.Validate(); err != nil {
		t.Fatalf("%v", err)
	}
	o = o.withDefaults()
	d := &duel{ctx: context.Background(), sides: [2]kv.Database{a, b}, names: o.Names, settling: settling}
	if err := d.awaitAge(); err != nil {
		t.Fatalf("%v", err)
	}
	seen := map[string]bool{}
	for i := range o.Programs {
		drawn := drawProgram(o.Seed, o.First+i, o.Steps)
		differences, err := d.fight(&drawn)
		if err != nil {
			t.Fatalf("%s: %v", drawn.Name, err)
		}
		d.counts.Programs++
		d.counts.Steps += len(drawn.Steps)
		if len(differences) == 0 {
			continue
		}
		d.counts.Different++
		if shape := differences[0].Shape(); !seen[shape] {
			seen[shape] = true
			t.Error(d.report(&drawn, differences))
		}
		if len(seen) == mostFinds {
			t.Errorf("gave up after %d kinds of differences", mostFinds)
			break
		}
	}
	t.Logf("seed %d: %d programs, %d steps, %d ran again, %d differ", o.Seed, d.counts.Programs, d.counts.Steps, d.counts.Again, d.counts.Different)
	return d.counts
}
