// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
)

// Diagnostic is one fault in the annotated source, with the place where it is
// to be mended.
type Diagnostic struct {
	File    string // slash-separated, relative to the working directory where that is shorter
	Line    int    // from 1; 0 if the fault is in no line, but in the folder File
	Column  int    // from 1, in bytes; 0 if the fault is in no line
	Subject string // "Type" or "Type.Field"; may be empty
	Message string // what is wrong, and the remedy
}

// String formats the diagnostic as "file:line:col: Type.Field: message".
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d", d.Line)
	}
	if d.Column > 0 {
		fmt.Fprintf(&b, ":%d", d.Column)
	}
	if d.File != "" {
		b.WriteString(": ")
	}
	if d.Subject != "" {
		b.WriteString(d.Subject + ": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// Diagnostics is every fault of a run, sorted by file, line and column. It is
// the error that [Run] returns for faults in the source.
type Diagnostics []Diagnostic

// Error returns the faults, one a line.
func (d Diagnostics) Error() string {
	lines := make([]string, len(d))
	for i, one := range d {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// newDiagnostics sorts faults and removes repetitions.
func newDiagnostics(list []diagnostic.Fault) Diagnostics {
	var d Diagnostics
	for _, one := range list {
		d = append(d, newDiagnostic(one))
	}
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(d)
}

func newDiagnostic(f diagnostic.Fault) Diagnostic {
	return Diagnostic{File: f.At.Filename, Line: f.At.Line, Column: f.At.Column, Subject: f.Subject, Message: f.Message}
}
