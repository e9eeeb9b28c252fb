// SPDX-License-Identifier: Apache-2.0

// Package electionotel reports what elections count to OpenTelemetry.
//
//	observer, err := electionotel.NewObserver(otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	e, err := election.New(db, "invoices", election.Options{Observer: observer})
//
// It uses only the API; the program chooses SDK and exporter. All instruments are
// observed when they are read. Candidates for one name in one process are added up,
// and counts do not go back when one of them ends.
//
// # Instruments
//
// All carry the attribute kazahana.election, the name.
//
//	kazahana.election.leading   up-down {candidate}    candidates that lead: 1 over all processes, but for moments
//	kazahana.election.rank      gauge {rank}           of the latest term that a candidate of this process led
//	kazahana.election.standbys  up-down {standby}      candidates that are registered, as the leader sees them
//	kazahana.election.terms     counter {term}         terms that were won; kazahana.election.begin is takeover (of a lapsed lease) or vacancy
//	kazahana.election.ended     counter {term}         terms that ended; outcome is resigned or deposed
//	kazahana.election.renewals  counter {renewal}      of leases; outcome is ok, late (left out since one was under way or the process stood still) or failed
//	kazahana.election.failures  counter {transaction}  looks and claims that failed and were tried again
//	kazahana.election.vacant    counter s              time without a leader, for each candidate that waited
//
// docs/operations.md says what to alert on.
//
// An [Observer] is safe for concurrent use. Nothing here takes part in transactions.
package electionotel
