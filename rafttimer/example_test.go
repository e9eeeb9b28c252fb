// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// A node without a leader becomes a candidate, then the leader. The time is
// mocked, so that nothing waits.
func Example() {
	var clock rafttimer.MockTimeProvider
	var timers *rafttimer.Driver
	timers, err := rafttimer.New(context.Background(), rafttimer.Options{
		Time:   &clock,
		Source: rand.NewPCG(1, 0), // another seed for each node
		OnElectionTimeout: func(e rafttimer.Event) {
			fmt.Println("a", e.Role, "starts an election")
			timers.BecomeCandidate()
		},
		OnHeartbeat: func(e rafttimer.Event) { fmt.Println("heartbeat at", e.Due) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer timers.Close()
	timers.BecomeFollower()
	for range 10 {
		clock.Advance(100 * time.Millisecond)
		timers.Contact() // a message of the leader
	}
	clock.Advance(300 * time.Millisecond) // none for so long
	timers.BecomeLeader()                 // elected
	clock.Advance(100 * time.Millisecond)
	fmt.Println(timers.State())
	// Output:
	// a follower starts an election
	// heartbeat at 1.35s
	// heartbeat at 1.4s
	// election timeout off, heartbeats on
}

// Single timers, without roles.
func ExampleDriver_StartElectionTimeout() {
	var clock rafttimer.MockTimeProvider
	timers, _ := rafttimer.New(context.Background(), rafttimer.Options{Time: &clock})
	defer timers.Close()
	timers.StartElectionTimeout(func(rafttimer.Event) { fmt.Println("replaced, never called") })
	timers.StartElectionTimeout(func(rafttimer.Event) { fmt.Println("election timeout") })
	fmt.Println(clock.ActiveTimers(), "timer runs")
	clock.Advance(time.Minute)
	fmt.Println(clock.ActiveTimers(), "timers run")
	// Output:
	// 1 timer runs
	// election timeout
	// 0 timers run
}

// A program that guards its state with a mutex receives events, and asks under the mutex
// whether each is current.
func ExampleDriver_Events() {
	var clock rafttimer.MockTimeProvider
	timers, _ := rafttimer.New(context.Background(), rafttimer.Options{Time: &clock})
	defer timers.Close()
	timers.BecomeFollower()
	clock.Advance(300 * time.Millisecond)
	e := <-timers.Events()
	fmt.Println(e.Kind, timers.IsCurrent(e))
	timers.Contact() // a message of the leader comes before the event is handled
	fmt.Println(e.Kind, timers.IsCurrent(e))
	// Output:
	// election timeout true
	// election timeout false
}

// A simulation gives a Machine the time of its own clock.
func ExampleMachine() {
	m, _ := rafttimer.NewMachine(rafttimer.Config{}, rand.NewPCG(1, 0))
	m.BecomeLeader(0)
	fmt.Println(m.Advance(nil, 50*time.Millisecond))
	fmt.Println(m.Advance(nil, 140*time.Millisecond)) // late
	fmt.Println(m.Advance(nil, time.Second))          // suspended
	// Output:
	// [heartbeat of a leader, due at 50ms]
	// [heartbeat of a leader, due at 100ms, late by 40ms]
	// [stall of a leader, due at 150ms, late by 850ms heartbeat of a leader, due at 1s, missed 17]
}

// The warnings for a slow network.
func ExampleConfig_Warnings() {
	for _, w := range (rafttimer.Config{}).Warnings(20*time.Millisecond, 5) {
		fmt.Println(w)
	}
	// Output:
	// ElectionTimeoutMax: with 5 nodes and a delay of 20ms, 51 % of elections begin with two candidates and may split the vote; a window of 459ms between minimum and maximum makes it 20 %
	// ElectionTimeoutMin: 150ms is less than ten times the delay of 20ms: late messages will start elections
}

// All faults of a configuration.
func ExampleConfig_Validate() {
	err := rafttimer.Config{
		ElectionTimeoutMin: 300 * time.Millisecond,
		ElectionTimeoutMax: 150 * time.Millisecond,
		HeartbeatInterval:  200 * time.Millisecond,
	}.Validate()
	fmt.Println(err)
	// Output:
	// rafttimer: ElectionTimeoutMax is 150ms: it must be greater than ElectionTimeoutMin, 300ms
	// rafttimer: HeartbeatInterval is 200ms: it must be at most half of ElectionTimeoutMin, 300ms
}
