// SPDX-License-Identifier: Apache-2.0

// Package naive is the contract of package kv in its simplest form, and engines
// made from it that each have one fault: the suites below kv/kvtest must accept
// the first and reject the others.
package naive
