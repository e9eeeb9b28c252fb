// SPDX-License-Identifier: Apache-2.0

// Package spread is a fixture: counts_test.go knows what there is to find.
package spread

// Wide is a type whose methods are in five files. There is no reason for it.
type Wide struct{}

// WideError looks like one that callers act on, but is
// no error, also
// when a method returns it. It is no longer used.
type WideError struct{}

func (Wide) A() {}
