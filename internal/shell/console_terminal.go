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

// Interactive reports whether a person can be asked: the input is a terminal, and the
// results are not JSON for a program.
func (c *Console) Interactive() bool {
	return !c.JSON && c.inTerminal && c.questions() != nil
}

// questions returns the terminal for questions: that of the errors or, if these are
// redirected, the one that controls the process. It is nil if there is none.
func (c *Console) questions() *os.File {
	if c.errTerminal != nil {
		return c.errTerminal
	}
	if c.control == nil {
		f, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
		if err != nil {
			return nil
		}
		c.control = f // it is open as long as the process
	}
	return c.control
}

// ReadsTerminal reports whether the input is a terminal.
func (c *Console) ReadsTerminal() bool { return c.inTerminal }

// WritesTerminal reports whether the results go to a terminal.
func (c *Console) WritesTerminal() bool { return c.outTerminal }

// Raw returns where results go, without escapes: for data that are bytes.
func (c *Console) Raw() io.Writer { return c.streams.Out }

// Terminals returns the terminal that a person types on, and the one for questions. Call it
// on an interactive console.
func (c *Console) Terminals() (in, out *os.File) { return terminalOf(c.streams.In), c.questions() }

// Again returns a console with the same streams for another run, whose input comes from in:
// what this console's input is read through.
func (c *Console) Again(args []string, in io.Reader) *Console {
	next := NewConsole(c.Name, args, Streams{In: in, Out: c.streams.Out, Err: c.streams.Err})
	next.JSON = next.JSON || c.JSON
	next.inTerminal, next.control = c.inTerminal, c.control
	return next
}
