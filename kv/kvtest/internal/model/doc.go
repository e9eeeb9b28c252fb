// SPDX-License-Identifier: Apache-2.0

// Package model is a database as a sorted map, which defines the results of reads
// and writes for checks that compare an engine with it.
package model
