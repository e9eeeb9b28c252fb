// SPDX-License-Identifier: Apache-2.0

// Package kvtest proves that an engine keeps the contract of package kv, and
// that a layer keeps its own promises on an engine that behaves as badly as
// the contract allows.
//
// An engine's tests:
//
//	func TestConformance(t *testing.T) { kvtest.RunConformance(t, open) }
//	func TestGoldens(t *testing.T)     { kvtest.ReplayGoldens(t, open, dir) }
//	func TestFinds(t *testing.T)       { kvtest.ReplayFinds(t, open) }
//
// A layer's tests:
//
//	db := kvtest.HostileT(t, engine)   // every transaction runs more than once
//	counter := kvtest.Count(engine)    // how many rounds of reads did that cost?
//
// [RunConformance] checks each law that the doc comments of kv state.
// [ReplayGoldens] replays traces recorded on a real FoundationDB cluster.
// [Differential] runs random programs on two engines, and [ReplayFinds] those in
// which engines were once found to differ.
// [CheckSerializable] and [CheckCommitOrder] look for contradictions in what
// random transactions read, in two ways; [CheckAnomaly] tries to bring about one
// anomaly.
// [Hostile] loses acknowledgements, forces retries, expires transactions, cuts
// range reads into small batches, resolves futures late and out of order and
// fires watches without reason. [Count] counts reads, writes, commits and the
// rounds of reads that wait for each other.
//
// # Concurrency and transactions
//
// What the wrappers return is as safe for concurrent use as the engine beneath:
// a database fully, a transaction as package kv says. They keep every law of
// the contract; [HostileOptions] says which of its liberties they take.
package kvtest
