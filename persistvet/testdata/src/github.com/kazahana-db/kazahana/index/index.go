// SPDX-License-Identifier: Apache-2.0

// Package index has the declarations of package index that the tests of analyzers need.
package index

type Kind string

const Count Kind = "count"

type Definition struct {
	Name      string
	Kind      Kind
	Fields    []string
	Unique    bool
	Where     string
	Sparse    []string
	Signature string
}
