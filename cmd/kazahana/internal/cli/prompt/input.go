// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"bytes"
	"context"
	"io"
)

// interruptKey is Ctrl-C.
const interruptKey = 3

// input is what is typed. A Read of the prompt ends behind a line, so that what was typed
// ahead is left for the next line, or for a question of the verb that runs. It is for one
// goroutine at a time.
type input struct {
	from        io.Reader
	pending     chan chunk // the read that is under way; nil: none
	buffer      []byte     // read and not given out
	interrupted bool       // the last byte that was given out is that of Ctrl-C
}

// chunk is what one read returned.
type chunk struct {
	text []byte
	err  error
}

// Read implements [io.Reader].
func (in *input) Read(p []byte) (int, error) { return in.read(context.Background(), p) }

// read is Read until ctx ends. What is typed after that is left for the next read.
func (in *input) read(ctx context.Context, p []byte) (int, error) {
	if len(in.buffer) == 0 {
		if err := in.fill(ctx); err != nil {
			return 0, err
		}
	}
	end := len(in.buffer)
	if i := bytes.IndexAny(in.buffer, "\x03\r\n"); i >= 0 {
		end = i + 1
	}
	n := copy(p, in.buffer[:end])
	in.buffer = in.buffer[n:]
	in.interrupted = n > 0 && p[n-1] == interruptKey
	return n, nil
}

// fill waits for what is typed next. A terminal cannot be told to end a read: it goes on
// when ctx ends, and the next fill waits for the same one.
func (in *input) fill(ctx context.Context) error {
	if in.pending == nil {
		in.pending = make(chan chunk, 1)
		go readChunk(in.from, in.pending)
	}
	select {
	case c := <-in.pending:
		in.pending, in.buffer = nil, c.text
		if len(c.text) > 0 {
			return nil // the next read returns the error again
		}
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func readChunk(from io.Reader, to chan<- chunk) {
	text := make([]byte, 4096)
	n, err := from.Read(text)
	to <- chunk{text[:n], err}
}

// commandInput is what is typed for a command: its reads end with the command's context.
type commandInput struct {
	*input
	ctx context.Context
}

// Read implements [io.Reader].
func (in commandInput) Read(p []byte) (int, error) { return in.read(in.ctx, p) }

// ReadLine implements [shell.LineReader].
func (in commandInput) ReadLine(ctx context.Context) (string, error) {
	var line []byte
	for p := make([]byte, 256); !bytes.HasSuffix(line, []byte("\n")); {
		n, err := in.read(ctx, p)
		line = append(line, p[:n]...)
		if err != nil {
			return string(line), err
		}
	}
	return string(line), nil
}
