// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"fmt"
	"go/token"
	"path/filepath"
)

// List collects the faults of a run.
type List struct {
	Dir    string // the working directory, for relative file names
	Faults []Fault
}

// Add records a fault at a position of the source.
func (l *List) Add(at token.Position, subject, format string, args ...any) {
	at.Filename, at.Offset = l.Relative(at.Filename), 0
	l.Faults = append(l.Faults, Fault{At: at, Subject: subject, Message: fmt.Sprintf(format, args...)})
}

// Relative shortens an absolute path to one from the working directory if that
// is shorter.
func (l *List) Relative(path string) string {
	if r, err := filepath.Rel(l.Dir, path); err == nil && len(r) < len(path) {
		path = r
	}
	return filepath.ToSlash(path)
}
