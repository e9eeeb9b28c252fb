// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"regexp"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// position is where a store is, in the terms of its schema.
type position struct {
	elements []erased.PathElement // of the whole path
	args     []string             // the values of the {Field}s
	refusal  error                // why nothing may be written
}

// bound is an element of a directory that is a {Field}, with its layer.
var bound = regexp.MustCompile(`^\{(\w+)\}(?:\((\w*)\))?$`)

// addNames adds elements that are fixed names.
func (at *position) addNames(names []string) {
	for _, name := range names {
		at.elements = append(at.elements, erased.PathElement{Name: name})
	}
}
