// SPDX-License-Identifier: Apache-2.0

// Package spread is a fixture: counts_test.go knows what there is to find.
package spread

// Wide is a type whose methods are in five files. There is no reason for it.
type Wide struct{}

// WideError is no error, also when it looks like one. It is no longer used.
type WideError struct{}

func (Wide) A() {}
