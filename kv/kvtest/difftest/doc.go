// SPDX-License-Identifier: Apache-2.0

// Package difftest runs random programs on two engines and reports where their
// answers differ.
//
//	func TestDifferential(t *testing.T) {
//		right, mine := openReference(t), openEngine(t)
//		difftest.Run(t, right, mine, difftest.Options{
//			Seed:     rand.Uint64(),
//			Programs: 1000,
//			Names:    [2]string{"reference", "mine"},
//		})
//	}
//
// A program whose answers differ is shrunk by delta debugging (Zeller and
// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
package difftest
