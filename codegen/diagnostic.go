// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Diagnostic is one fault in the annotated source, with the place where it is
// to be mended.
type Diagnostic struct {
	File    string // slash-separated, relative to the working directory where that is shorter
	Line    int    // from 1; 0 if the fault is in no line
	Column  int    // from 1, in bytes; 0 if the fault is a whole line
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

// faults collects diagnostics while a run goes on.
type faults struct {
	dir  string // the working directory, for relative file names
	list Diagnostics
}

// add records a fault at a position of the source.
func (f *faults) add(at token.Position, subject, format string, args ...any) {
	f.list = append(f.list, Diagnostic{
		File:    relative(f.dir, at.Filename),
		Line:    at.Line,
		Column:  at.Column,
		Subject: subject,
		Message: fmt.Sprintf(format, args...),
	})
}

// err returns the sorted faults without repetitions, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(f.list)
}

// relative shortens an absolute path to one from dir if that is shorter.
func relative(dir, path string) string {
	if r, err := filepath.Rel(dir, path); err == nil && len(r) < len(path) {
		path = r
	}
	return filepath.ToSlash(path)
}
