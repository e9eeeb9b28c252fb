// SPDX-License-Identifier: Apache-2.0

// Package naive has the simplest engine that keeps the contract of package kv, and
// variants of it with one fault each: the suites of kv/kvtest must accept the first
// and reject the others.
package naive
