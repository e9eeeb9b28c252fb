// SPDX-License-Identifier: Apache-2.0

// Package candidate decides what one candidate of an election does next. It has no
// clock, no goroutine and no database: its caller gives it the time and the answers
// of the database, and executes what [Candidate.Next] asks for, one action at a
// time:
//
//	action, wake, timed := c.Next()
//	switch action {
//	case candidate.Look: // read the name and watch it; then c.HandleLook(…)
//	case candidate.Claim: // claim it with c.Seen(); then c.HandleGrant(…) or c.HandleRefusal(…)
//	case candidate.Renew: // renew the grant; then c.HandleRenewal(…)
//	}
//	// at the time wake at the latest: c.Advance(now)
//
// So package election and the simulation share the same decisions. Times count from
// an origin that the caller chooses. The timers are those of package rafttimer: a
// follower's election timeout is the lease of the leader and a random part of a
// window, and each renewal that is seen is a contact; a leader's heartbeats are its
// renewals.
//
// A [Candidate] is not safe for concurrent use.
package candidate
