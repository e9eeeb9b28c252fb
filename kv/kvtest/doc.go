// SPDX-License-Identifier: Apache-2.0

// Package kvtest proves that an engine keeps the contract of package kv.
//
// An engine's tests:
//
//	func TestConformance(t *testing.T) { kvtest.RunConformance(t, open) }
//	func TestOptions(t *testing.T)     { kvtest.RunOptions(t, openWith) }
//	func TestGoldens(t *testing.T)     { replay.Goldens(t, open, dir) }
//	func TestFinds(t *testing.T)       { replay.Finds(t, open) }
//
// [RunConformance] checks each law that the doc comments of kv state, and
// [RunOptions] those of [kv.TransactionOptions]. [CheckAnomaly] tries to bring
// about one anomaly. The packages below have the other tests: replay compares an
// engine with recordings of a FoundationDB cluster, difftest compares two engines,
// history checks isolation, and faults has the wrappers that layers are tested on.
package kvtest
