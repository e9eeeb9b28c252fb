// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminalOf returns the terminal that a stream is; nil if it is none.
func terminalOf(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Interactive reports whether a person can be asked: input and errors are a terminal,
// and the results are not JSON for a program.
func (c *Console) Interactive() bool {
	return !c.JSON && c.errTerminal != nil && c.inTerminal
}

// ReadsTerminal reports whether the input is a terminal.
func (c *Console) ReadsTerminal() bool { return c.inTerminal }

// WritesTerminal reports whether the results go to a terminal.
func (c *Console) WritesTerminal() bool { return c.outTerminal }

// Raw returns where results go, without escapes: for data that are bytes.
func (c *Console) Raw() io.Writer { return c.rawOut }
