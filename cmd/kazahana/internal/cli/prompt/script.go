// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"bufio"
	"context"
	"io"
)

// scriptLine is a line of a script, with what the read of it returned.
type scriptLine struct {
	text string
	err  error
}

// script is the lines of an input that is no terminal. A goroutine reads them, so that
// the end of a context ends the wait for a line; a read that never returns ends with the
// process.
type script struct {
	lines chan scriptLine
	done  chan struct{}
}

func newScript(in io.Reader) *script {
	s := &script{make(chan scriptLine), make(chan struct{})}
	go s.read(bufio.NewReader(in))
	return s
}

func (s *script) read(in *bufio.Reader) {
	defer close(s.lines)
	for {
		text, err := in.ReadString('\n')
		select {
		case s.lines <- scriptLine{text, err}:
		case <-s.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line, and [io.EOF] behind the last one, or with it if no
// newline ends it.
func (s *script) readLine(ctx context.Context) (string, error) {
	select {
	case l, more := <-s.lines:
		if !more {
			return "", io.EOF
		}
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// close ends the goroutine, once its read returns.
func (s *script) close() { close(s.done) }
