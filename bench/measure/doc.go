// SPDX-License-Identifier: Apache-2.0

// Package measure lets entrants run the same work side by side: in interleaved
// rounds within one process, each round checked, the medians compared with
// budgets. Whatever else the machine does then falls upon all of them.
//
// A [Stage] opens stores and returns the contests that are run on them. A
// [Contest] is one figure: how often a second each [Entrant] does its
// operation. The first entrant is the one that has to meet the budgets; those
// of the others say by how much of their rate.
package measure
