// SPDX-License-Identifier: Apache-2.0

// Package rafttimer has the timers of Raft: election timeouts that are drawn at
// random, heartbeats at a fixed interval, and time that a test moves by hand. It
// is no Raft: it says when to start an election and when to send a heartbeat.
//
//	timers, err := rafttimer.New(ctx, rafttimer.Options{ // 150 to 300 ms, heartbeats of 50 ms
//		OnElectionTimeout: func(rafttimer.Event) { node.Campaign() },
//		OnHeartbeat:       func(rafttimer.Event) { node.SendHeartbeats() },
//	})
//	defer timers.Close()
//	timers.BecomeFollower()  // the election timeout runs
//	timers.Contact()         // a valid message of the leader: it counts anew
//	timers.BecomeCandidate() // it is drawn anew
//	timers.BecomeLeader()    // it stops, heartbeats run
//
// # Layers
//
// A [Machine] decides: it is given the time, and returns events and the next
// deadline. It has no clock, no goroutine and no lock, so that a simulation
// gives each node a clock of its own. A [Driver] runs a Machine by the system's clock, or by a
// [TimeProvider] such as [MockTimeProvider]. Package rafttimer/mux runs the machines
// of many groups in few goroutines.
//
// # Roles
//
// A follower and a candidate have an election timeout, a leader has heartbeats; see
// [Role.Timers]. A role change starts and stops what that takes. Without a role the
// single verbs, such as [Driver.StartElectionTimeout], are the caller's own; with
// one they are refused where they would break the rule.
//
// # Stale events
//
// A timer may fire while the program decides to stop it. A Driver takes such an
// event back: when a method has stopped or replaced a timer, no callback of that
// timer runs any more. A program that hands events on to another goroutine asks
// [Driver.IsCurrent] there, which compares the number of role changes and the generation of the
// timer that each event carries.
//
// # Locks and event loops
//
// A stop or a role change waits until a callback that runs has returned. A callback must
// therefore not wait for the goroutine that makes such a call: not for a mutex that it holds, and
// not for a channel that it receives from. A program that guards its state with a mutex, or
// handles everything in one goroutine, sets no callbacks and receives from [Driver.Events]. Then no
// method waits:
//
//	for e := range timers.Events() {
//		mu.Lock()
//		if timers.IsCurrent(e) { // nothing has happened since it was sent
//			node.handle(e) // calls timers.BecomeCandidate, for example
//		}
//		mu.Unlock()
//	}
//
// # Stalls
//
// A process that was suspended or blocked finds out by its timers being late. It gets a
// [Stall] with the length. A leader may have lost its office meanwhile. A follower
// has not listened, so that its election timeout begins anew, once until the next
// contact. Heartbeats that were missed
// are counted, not sent in a burst.
//
// # Clocks
//
// A Driver goes by Go's monotonic clock. Where that stands still during a suspend, the wall clock
// shows how long: a wall clock that is set ahead while timers run is reported as a [Stall], too. Timers are as precise as the system's,
// 1 to 15 ms late at worst on a machine with time to spare.
//
// The times follow Ongaro and Ousterhout, "In Search of an Understandable Consensus
// Algorithm (Extended Version)", 2014, sections 5.2, 5.6 and 9.3.
package rafttimer
