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
// clock, or by a [TimeProvider] such as [MockTimeProvider]. A [Mux]
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
// # Many groups
//
// With a Driver for each group, a process with 100,000 Raft groups would need as many goroutines and
// system timers. A [Mux] runs the timers of all groups in a few goroutines:
//
//	m, err := rafttimer.NewMux(ctx, func(g *rafttimer.Group[*Replica], e rafttimer.Event) {
//		g.Value().Notify(e) // note what to do, and wake the replica's worker up
//	}, rafttimer.MuxOptions{})
//	defer m.Close()
//
//	replica.timers, err = m.NewGroup(replica)
//	replica.timers.BecomeFollower()
//	replica.timers.Contact() // for each message of the leader
//
// A [Group] has the role changes, the contacts and the guarantees of a Driver, and
// a Machine of its own. It has no methods for single timers: its role decides which of them run.
//
// A contact changes one number: it takes no lock and sets no timer. At the earlier
// deadline the Mux finds the later one. So a live group costs one check per
// election timeout, not one per message; eight groups share a check. A stopped
// group costs nothing. A message for many groups needs one reading of the clock,
// see [Group.ContactAt]. A Mux keeps about 30 bytes for each group of the largest number that it has had
// at a time, until it is garbage itself. New groups use them again.
//
// A hierarchical timing wheel keeps the deadlines: Varghese and Lauck, "Hashed and
// Hierarchical Timing Wheels: Data Structures for the Efficient Implementation of a
// Timer Facility", SOSP 1987. Its tick is MuxOptions.Resolution. An event never comes
// before its deadline, and at most one resolution after it, plus the lateness of
// the system's timer and of handlers that run before. Events of one tick come in
// any order.
//
// If the machine was suspended for longer than Config.StallThreshold, every group
// with running timers gets a Stall. If the process stood still for another
// reason, or a handler blocked its shard, the groups get one if their deadlines passed
// that long ago.
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
