// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"bytes"
	"io"
)

// interruptKey is Ctrl-C.
const interruptKey = 3

// input is what is typed. A Read of the prompt ends behind a line, so that what was typed
// ahead is left for the next line, or for a question of the verb that runs.
type input struct {
	from        io.Reader
	buffer      []byte // read and not given out
	interrupted bool   // the last byte that was given out is that of Ctrl-C
}

// Read implements [io.Reader].
func (in *input) Read(p []byte) (int, error) {
	if len(in.buffer) == 0 {
		chunk := make([]byte, 4096)
		n, err := in.from.Read(chunk)
		if n == 0 {
			return 0, err
		}
		in.buffer = chunk[:n]
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
