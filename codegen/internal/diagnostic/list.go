// SPDX-License-Identifier: Apache-2.0

// Package diagnostic collects the faults and notes that the phases of persistgen find in the
// source, each with its position. It imports no other phase.
package diagnostic

import (
	"fmt"
	"go/token"
	"path/filepath"
)

// List collects the faults and the notes of a run.
type List struct {
	Dir      string // the working directory, for relative file names
	Absolute bool   // file names stay absolute
	Faults   []Fault
	Notes    []Fault // what a user should know of a run that succeeds
}

// Add records a fault at a position of the source.
func (l *List) Add(at token.Position, subject, format string, args ...any) {
	l.Faults = append(l.Faults, l.fault(at, subject, fmt.Sprintf(format, args...)))
}

// Note records a note at a position of the source, or at none.
func (l *List) Note(at token.Position, format string, args ...any) {
	l.Notes = append(l.Notes, l.fault(at, "", "note: "+fmt.Sprintf(format, args...)))
}

// fault gives a line that has no column the first one, because editors read
// file:line:column.
func (l *List) fault(at token.Position, subject, message string) Fault {
	at.Filename, at.Offset = l.Relative(at.Filename), 0
	if at.Line > 0 {
		at.Column = max(at.Column, 1)
	}
	return Fault{At: at, Subject: subject, Message: message}
}

// Relative shortens an absolute path to one from the working directory if that
// is shorter.
func (l *List) Relative(path string) string {
	if r, err := filepath.Rel(l.Dir, path); err == nil && len(r) < len(path) && !l.Absolute {
		path = r
	}
	return filepath.ToSlash(path)
}

// Fault is one fault of the source.
type Fault struct {
	At      token.Position // its file name is relative to the working directory where that is shorter
	Subject string         // "Type" or "Type.Field"; may be empty
	Message string         // what is wrong, and the remedy
}
