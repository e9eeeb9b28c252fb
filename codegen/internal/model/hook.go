// SPDX-License-Identifier: Apache-2.0

package model

// Hook is a method of a record that the run-time calls when it writes the record.
type Hook string

// The hooks, in the order in which the run-time calls them.
const (
	BeforeCreate Hook = "BeforeCreate"
	BeforeSave   Hook = "BeforeSave"
	Validate     Hook = "Validate"
)

// Hooks lists all hooks.
func Hooks() []Hook { return []Hook{BeforeCreate, BeforeSave, Validate} }

// Sets reports whether the hook is there to set fields of the record.
func (h Hook) Sets() bool { return h != Validate }
