// SPDX-License-Identifier: Apache-2.0

// Package rafttimer has the timers of Raft: random election timeouts, heartbeats at
// a fixed interval, and a mocked time that a test advances. It does not implement
// Raft: it tells a node when to start an election and when to send a heartbeat.
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
// A [Machine] decides: its caller gives it the time, and it returns events and the
// next deadline. It has no clock, no goroutine and no lock, so a simulation can
// give each node a clock of its own. A [Driver] runs a Machine by the system's
// clock, or by a [TimeProvider] such as [MockTimeProvider]. Package rafttimer/mux
// runs the machines of many groups in few goroutines.
//
// # Roles
//
// A follower and a candidate have an election timeout, a leader has heartbeats; see
// [Role.Timers]. A role change starts and stops these timers. Without a role the
// caller uses the methods for single timers, such as [Driver.StartElectionTimeout].
// With a role such a method is refused if it breaks this rule.
//
// # Stale events
//
// A timer may fire while the program decides to stop it. A Driver drops such an
// event: when a method that stops or replaces a timer has returned, no callback of
// that timer runs any more, and no event of it is left in [Driver.Events]. A contact
// leaves the election timeout there that it makes stale. A program that passes events to another goroutine calls
// [Driver.IsCurrent] there, which compares the number of role changes and the
// generation of the timer that each event carries.
//
// # Locks and event loops
//
// A stop or a role change waits until a running callback has returned. So a
// callback must not wait for the goroutine that makes such a call, neither for a
// mutex that the goroutine holds, nor for a channel that it receives from. A
// program that guards its state with a mutex, or handles everything in one
// goroutine, sets no callbacks and receives from [Driver.Events]. Then no method
// waits:
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
// If a process was suspended or blocked its timers are late, and it gets a [Stall]
// event with the length. A leader may have been replaced during that time. A follower has
// received nothing, so its election timeout begins anew, once until the next
// contact. Missed heartbeats are counted, not sent in a burst.
//
// # Clocks
//
// A Driver uses Go's monotonic clock. If that stands still during a suspend, the
// wall clock shows its length; so a wall clock that is set ahead while timers run
// is also reported as a [Stall]. Timers are as precise as the system's, at worst 1
// to 15 ms late on an idle machine.
//
// The times follow Ongaro and Ousterhout, "In Search of an Understandable Consensus
// Algorithm (Extended Version)", 2014, sections 5.2, 5.6 and 9.3.
package rafttimer
