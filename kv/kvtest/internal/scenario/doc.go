// SPDX-License-Identifier: Apache-2.0

// Package scenario reads, writes, compares and describes scenarios: the steps of
// up to four transactions and their answers, one JSON object a line.
package scenario
