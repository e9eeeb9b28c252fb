// SPDX-License-Identifier: Apache-2.0

// Package house is a fixture: counts_test.go knows what there is to find.
package house

// lockFile has methods in its own file, in one named after it, and away from it.
type lockFile struct{ held bool }

func (l *lockFile) open() { l.held = true }

// Nobody calls it. A second sentence names the caller.
func (l *lockFile) closeTwice() { l.held = false }
