// SPDX-License-Identifier: Apache-2.0

//go:build unix

package measure

import (
	"testing"
	"time"
)

// TestRunnerMeasuresProcessorAndTimes spins, and looks for what the runner has measured of it.
func TestRunnerMeasuresProcessorAndTimes(t *testing.T) {
	spin := func(*Worker) error {
		for begin := ProcessorTime(); ProcessorTime() < begin+2*time.Millisecond; {
		}
		return nil
	}
	r := Runner{Rounds: 2}
	result, err := r.runContest(Contest{Times: true, Durable: true, Entrants: []Entrant{{Ops: 5, Op: spin}}}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Processor[0]; len(got) != 2 || got[0] < 0.002 || got[1] < 0.002 {
		t.Errorf("processor times of %v s, want at least 0.002 of each round", got)
	}
	if n := result.Quantiles[0].total; n != 10 {
		t.Errorf("%d times of 10 operations", n)
	}
}
