// SPDX-License-Identifier: Apache-2.0

// Package measure runs the same work of several entrants in interleaved rounds
// within one process, checks each round, and compares the medians with budgets. So
// other load of the machine affects all entrants.
//
// A [Stage] opens stores and returns the contests that run on them. A [Contest] is
// one figure: how often a second each [Entrant] does its operation. The first
// entrant must meet the budgets, which are fractions of the rates of the others.
package measure
