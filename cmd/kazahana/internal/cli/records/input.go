// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// lineCounter counts the lines of what is read, up to any place.
type lineCounter struct {
	in     io.Reader
	starts []int64 // the offsets behind each line that may still be asked for
	lines  int     // before the first of starts
	pos    int64
}

// Read implements [io.Reader].
func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for at, rest := 0, p[:n]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		at += i + 1
		l.starts, rest = append(l.starts, l.pos+int64(at)), rest[i+1:]
	}
	l.pos += int64(n)
	return n, err
}

// before returns how many lines end before an offset, which never goes back.
func (l *lineCounter) before(offset int64) int {
	for len(l.starts) > 0 && l.starts[0] <= offset {
		l.starts = l.starts[1:]
		l.lines++
	}
	return l.lines
}

// readRecords yields the records of JSON objects, one behind the other. Errors name the
// line of the input.
func readRecords(s *dynamic.Store, in io.Reader) iter.Seq2[*dynamic.Record, error] {
	return func(yield func(*dynamic.Record, error) bool) {
		lines := &lineCounter{in: in}
		dec := json.NewDecoder(lines)
		for {
			var text json.RawMessage
			err := dec.Decode(&text)
			if errors.Is(err, io.EOF) {
				return
			}
			end := dec.InputOffset()
			before := lines.before(end - int64(len(text)))
			if errors.Is(err, shell.ErrNoInput) {
				yield(nil, shell.Invalid(err))
				return
			}
			if err != nil {
				yield(nil, shell.Invalid(fmt.Errorf("line %d: it is not JSON: %w", lines.before(end)+1, err)))
				return
			}
			r, err := s.ParseRecord(text)
			var fault *dynamic.ValueError
			if errors.As(err, &fault) {
				fault.Line += before
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
