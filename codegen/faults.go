// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/token"
	"path/filepath"
)

// finding is one fault of the source.
type finding struct {
	at      token.Position // its file name is relative to the working directory where that is shorter
	subject string         // "Type" or "Type.Field"; may be empty
	message string         // what is wrong, and the remedy
}

// faults collects the findings of a run.
type faults struct {
	dir  string // the working directory, for relative file names
	list []finding
}

// add records a fault at a position of the source.
func (f *faults) add(at token.Position, subject, format string, args ...any) {
	at.Filename, at.Offset = f.relative(at.Filename), 0
	f.list = append(f.list, finding{at: at, subject: subject, message: fmt.Sprintf(format, args...)})
}

// relative shortens an absolute path to one from the working directory if that
// is shorter.
func (f *faults) relative(path string) string {
	if r, err := filepath.Rel(f.dir, path); err == nil && len(r) < len(path) {
		path = r
	}
	return filepath.ToSlash(path)
}
