// SPDX-License-Identifier: Apache-2.0

// Package model is a database as a sorted map: the plain meaning of each read and
// write, for checks that compare an engine with it.
package model
