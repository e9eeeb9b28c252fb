// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestScriptLines reads a script whose last line has no newline, to its end.
func TestScriptLines(t *testing.T) {
	s := newScript(strings.NewReader("a\nb"))
	defer s.close()
	for _, want := range []scriptLine{{"a\n", nil}, {"b", io.EOF}, {"", io.EOF}} {
		if text, err := s.readLine(t.Context()); text != want.text || err != want.err {
			t.Errorf("%q, %v; want %q, %v", text, err, want.text, want.err)
		}
	}
}

// TestScriptHeedsContext: the wait for a line of an idle pipe ends with its context.
func TestScriptHeedsContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	s := newScript(in)
	defer s.close()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := s.readLine(ctx); !errors.Is(err, stopped) {
		t.Errorf("%v, want %v", err, stopped)
	}
}
