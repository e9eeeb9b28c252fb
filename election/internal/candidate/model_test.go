// SPDX-License-Identifier: Apache-2.0

package candidate_test

import (
	"time"

	"github.com/kazahana-db/kazahana/leasefdb"
)

// store is a model of a database that holds one name of package leasefdb and a log: its
// transactions read at a version and conflict as the engine's do. TestModel compares it
// with the engine.
type store struct {
	version            int64 // of the latest commit
	fenceAt, renewalAt int64 // the latest change of the keys
	state              leasefdb.State
	logged             int64 // the last rank in the log
}

// attempt is a transaction: what it has read, and what it will write.
type attempt struct {
	version             int64
	state               leasefdb.State // as read
	reads, readsRenewal bool           // the fence key; the renewal key, too
	setsFence, countsUp bool
	next                leasefdb.State
	logged              int64 // the rank that it appends to the log; 0: none
	elsewhere           bool  // it writes other keys
}

func (s *store) begin() *attempt { return &attempt{version: s.version, state: s.state} }

// claim is [leasefdb.Names.Claim] at a time of the claimant's clock. It returns the
// epoch, or false if the name is another's.
func (a *attempt) claim(seen leasefdb.Observation, owner, request string, lease time.Duration, now time.Time) (int64, bool) {
	a.reads, a.readsRenewal = true, true
	state := a.state
	switch {
	case state.Held() && state.Request == request && state.Holder == owner:
	case state.Held() && !allows(seen, state, now):
		return 0, false
	default:
		state.Epoch++
		state.Holder, state.Request, state.Duration = owner, request, lease
		a.setsFence = true
	}
	a.next, a.countsUp = state, true
	return state.Epoch, true
}

// allows is what leasefdb asks of an observation, by another clock.
func allows(seen leasefdb.Observation, state leasefdb.State, now time.Time) bool {
	known := seen.State()
	return known.Held() && known.Epoch == state.Epoch && known.Revision == state.Revision && seen.Remaining(now) <= 0
}

// check is [leasefdb.Grant.Check].
func (a *attempt) check(epoch int64, request string) bool {
	a.reads = true
	return a.state.Held() && a.state.Epoch == epoch && a.state.Request == request
}

// renew is [leasefdb.Grant.Renew].
func (a *attempt) renew(epoch int64, request string) bool {
	if !a.check(epoch, request) {
		return false
	}
	a.countsUp = true
	return true
}

// release is [leasefdb.Grant.Release].
func (a *attempt) release(epoch int64, request string) {
	if a.check(epoch, request) {
		a.next, a.setsFence, a.countsUp = leasefdb.State{Name: a.state.Name, Epoch: epoch}, true, true
	}
}

// write appends a rank to the log.
func (a *attempt) write(rank int64) { a.logged = rank }

// commit returns false if the attempt conflicts.
func (s *store) commit(a *attempt) bool {
	writes := a.setsFence || a.countsUp || a.logged > 0 || a.elsewhere
	if writes && (a.reads && s.fenceAt > a.version || a.readsRenewal && s.renewalAt > a.version) {
		return false
	}
	if !writes {
		return true
	}
	s.version++
	revision := s.state.Revision
	if a.setsFence {
		s.state, s.fenceAt = a.next, s.version
	}
	if a.countsUp {
		revision, s.renewalAt = revision+1, s.version
	}
	s.state.Revision = revision
	if a.logged > 0 {
		s.logged = a.logged
	}
	return true
}
