// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/rafttimer"
)

func TestDefaults(t *testing.T) {
	complete, err := rafttimer.Config{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	want := rafttimer.Config{
		ElectionTimeoutMin: 150 * ms, ElectionTimeoutMax: 300 * ms, HeartbeatInterval: 50 * ms,
		StallThreshold: 50 * ms, BackoffFactor: 1, BackoffLimit: 8, BroadcastLimit: 1500 * ms,
	}
	if diff := cmp.Diff(want, complete); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// Each fault is found, even among others, by the name of its field.
func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		config rafttimer.Config
		want   []string // fields
	}{
		{"zero", rafttimer.Config{}, nil},
		{"minimum alone", rafttimer.Config{ElectionTimeoutMin: time.Second}, nil},
		{"minimum of a nanosecond", rafttimer.Config{ElectionTimeoutMin: 2, HeartbeatInterval: 1}, nil},
		{"negative", rafttimer.Config{ElectionTimeoutMin: -1, ElectionTimeoutMax: -2, HeartbeatInterval: -3, StallThreshold: -4, BroadcastLimit: 1}, []string{"ElectionTimeoutMin", "ElectionTimeoutMax", "HeartbeatInterval", "StallThreshold"}},
		{"negative minimum alone", rafttimer.Config{ElectionTimeoutMin: -1}, []string{"ElectionTimeoutMin"}},
		{"negative minimum among others that fit none", rafttimer.Config{ElectionTimeoutMin: -1, ElectionTimeoutMax: 1, HeartbeatInterval: time.Hour}, []string{"ElectionTimeoutMin"}},
		{"negative maximum alone", rafttimer.Config{ElectionTimeoutMax: -1}, []string{"ElectionTimeoutMax"}},
		{"heartbeat of a rounded-down default", rafttimer.Config{ElectionTimeoutMin: 2}, []string{"HeartbeatInterval"}},
		{"equal bounds", rafttimer.Config{ElectionTimeoutMin: 200 * ms, ElectionTimeoutMax: 200 * ms}, []string{"ElectionTimeoutMax"}},
		{"maximum below the default minimum", rafttimer.Config{ElectionTimeoutMax: 100 * ms}, []string{"ElectionTimeoutMax"}},
		{"heartbeat of half", rafttimer.Config{HeartbeatInterval: 75 * ms}, nil},
		{"heartbeat of more than half", rafttimer.Config{HeartbeatInterval: 75*ms + 1}, []string{"HeartbeatInterval"}},
		{"not finite", rafttimer.Config{BackoffFactor: math.NaN(), BackoffLimit: math.Inf(1), BroadcastFactor: math.Inf(-1)}, []string{"BackoffFactor", "BackoffLimit", "BroadcastFactor"}},
		{"below one", rafttimer.Config{BackoffFactor: 0.9, BackoffLimit: -1, BroadcastFactor: 0.5}, []string{"BackoffFactor", "BackoffLimit", "BroadcastFactor"}},
		{"limit below the minimum", rafttimer.Config{BroadcastLimit: 149 * ms}, []string{"BroadcastLimit"}},
		{"overflow", rafttimer.Config{ElectionTimeoutMax: math.MaxInt64}, []string{"ElectionTimeoutMax"}},
		{"overflow of the minimum", rafttimer.Config{ElectionTimeoutMin: math.MaxInt64 - 1}, []string{"ElectionTimeoutMin"}},
		{"overflow of the default maximum", rafttimer.Config{ElectionTimeoutMin: math.MaxInt64 / 4}, []string{"ElectionTimeoutMax"}},
		{"overflow of the threshold", rafttimer.Config{StallThreshold: math.MaxInt64/4 + 1}, []string{"StallThreshold"}},
		{"overflow by back-off", rafttimer.Config{ElectionTimeoutMax: math.MaxInt64 / 8, BackoffFactor: 2}, []string{"ElectionTimeoutMax"}},
		{"overflow by adaptation", rafttimer.Config{BroadcastFactor: 10, BroadcastLimit: math.MaxInt64}, []string{"ElectionTimeoutMax"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fields(test.config.Validate())); diff != "" {
				t.Errorf("faulty fields (-want +got):\n%s", diff)
			}
			if _, err := rafttimer.NewMachine(test.config, nil); (err != nil) != (test.want != nil) {
				t.Errorf("NewMachine says %v", err)
			}
			if _, err := rafttimer.New(t.Context(), rafttimer.Options{Config: test.config}); err != nil != (test.want != nil) {
				t.Errorf("New says %v", err)
			}
		})
	}
}

// fields returns the fields that joined errors name.
func fields(err error) (names []string) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, err := range joined.Unwrap() {
		if name, _, found := strings.Cut(strings.TrimPrefix(err.Error(), "rafttimer: "), " is "); found {
			names = append(names, name)
		}
	}
	return names
}

func TestConfigFromMillis(t *testing.T) {
	c, err := rafttimer.ConfigFromMillis(150, 300, 50)
	if want := (rafttimer.Config{ElectionTimeoutMin: 150 * ms, ElectionTimeoutMax: 300 * ms, HeartbeatInterval: 50 * ms}); err != nil || c != want {
		t.Errorf("have %+v (%v), want %+v", c, err, want)
	}
	for _, bad := range []float64{0, -1, 1e-7, math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		if _, err := rafttimer.ConfigFromMillis(bad, bad, bad); len(fields(err)) != 3 {
			t.Errorf("of three times %v: %v", bad, err)
		}
	}
	if _, err := rafttimer.ConfigFromMillis(300, 150, 50); err == nil {
		t.Error("a maximum below the minimum is accepted")
	}
}

// The odds are those of random draws.
func TestSplitVoteOdds(t *testing.T) {
	random := seed.Rand(t)
	for _, test := range []struct {
		delay time.Duration
		nodes int
	}{{5 * ms, 5}, {10 * ms, 5}, {20 * ms, 5}, {5 * ms, 2}, {30 * ms, 3}} {
		split, rounds := 0, 200_000
		for range rounds {
			first, second := twoSmallest(random, test.nodes, 150*ms)
			if second-first < test.delay {
				split++
			}
		}
		have, want := rafttimer.Config{}.SplitVoteOdds(test.delay, test.nodes), float64(split)/float64(rounds)
		if math.Abs(have-want) > 0.006 { // more than 5 standard deviations
			t.Errorf("%d nodes, %v: the odds are given as %.3f, drawn %.3f", test.nodes, test.delay, have, want)
		}
	}
	for _, c := range []struct {
		delay time.Duration
		nodes int
		want  float64
	}{{10 * ms, 1, 0}, {10 * ms, 0, 0}, {0, 5, 0}, {-1, 5, 0}, {150 * ms, 2, 1}, {time.Hour, 2, 1}} {
		if odds := (rafttimer.Config{}).SplitVoteOdds(c.delay, c.nodes); odds != c.want {
			t.Errorf("%d nodes, %v: %v, want %v", c.nodes, c.delay, odds, c.want)
		}
	}
}

func twoSmallest(random *rand.Rand, n int, window time.Duration) (first, second time.Duration) {
	first, second = window, window
	for range n {
		switch x := time.Duration(random.Int64N(int64(window))); {
		case x < first:
			first, second = x, first
		case x < second:
			second = x
		}
	}
	return first, second
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		name   string
		config rafttimer.Config
		delay  time.Duration
		nodes  int
		want   []string // parts of each
	}{
		{"defaults on a fast network", rafttimer.Config{}, ms, 5, nil},
		{"defaults on a slow one", rafttimer.Config{}, 20 * ms, 5, []string{"ElectionTimeoutMax: with 5 nodes and a delay of 20ms, 51 %", "ElectionTimeoutMin: 150ms is less than ten times"}},
		{"rare heartbeats", rafttimer.Config{HeartbeatInterval: 75 * ms}, ms, 5, []string{"HeartbeatInterval: 75ms is more than a third"}},
		{"too many heartbeats", rafttimer.Config{HeartbeatInterval: 5 * ms}, ms, 5, []string{"HeartbeatInterval: 5ms is far below"}},
		{"heartbeats below the precision", rafttimer.Config{ElectionTimeoutMin: 2 * ms}, 1, 5, []string{"HeartbeatInterval: 666.666µs is shorter"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.config.Warnings(test.delay, test.nodes)
			if len(got) != len(test.want) {
				t.Fatalf("warnings %v, want %v", got, test.want)
			}
			for i, w := range got {
				if !strings.Contains(w, test.want[i]) {
					t.Errorf("%q does not say %q", w, test.want[i])
				}
			}
		})
	}
}

// The window that a warning recommends has the odds that it promises.
func TestRecommendedWindow(t *testing.T) {
	c := rafttimer.Config{ElectionTimeoutMin: time.Second, ElectionTimeoutMax: time.Second + 449*ms}
	if got := c.Warnings(20*ms, 5); len(got) != 1 || !strings.Contains(got[0], "a window of 459ms") {
		t.Fatalf("warnings %v", got)
	}
	c.ElectionTimeoutMax = c.ElectionTimeoutMin + 459*ms
	if got := c.Warnings(20*ms, 5); len(got) != 0 {
		t.Errorf("with the recommended window: %v", got)
	}
}
