// SPDX-License-Identifier: Apache-2.0

// Package replay replays on an engine what a FoundationDB 7.3 cluster answered:
// every step must give the same answer and leave the same contents.
//
//	func TestGoldens(t *testing.T) {
//		replay.Goldens(t, openEngine, "testdata/recordings")
//	}
//
//	func TestFinds(t *testing.T) {
//		replay.Finds(t, openEngine)
//	}
//
// [Goldens] replays recorded traces, [Finds] the random programs in which engines
// once differed. testdata/coverage.md lists which behaviour the traces of this
// repository prove.
package replay
