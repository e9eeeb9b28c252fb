// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/types"
)

// Package is one user package: what is checked, locked and emitted together.
type Package struct {
	Name       string // package clause
	Path       string // import path
	Dir        string
	Constraint string // the //go:build expression of its records' files, or ""
	Types      *types.Package
	Elsewhere  []string   // names that tests, and files of other builds, declare
	Records    []*Record  // sorted by Go name
	Messages   []*Message // every struct that is encoded, records included; sorted by function name
}

// FindRecord returns the record with that key-stable name, or nil.
func (p *Package) FindRecord(name string) *Record {
	for _, r := range p.Records {
		if r.Name == name {
			return r
		}
	}
	return nil
}
