// SPDX-License-Identifier: Apache-2.0

package sentinel_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/kazahana-db/kazahana/internal/sentinel"
)

// TestMark: an error keeps its text and its causes, and is all its sentinels, through wrapping.
func TestMark(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	cause := &fs.PathError{Op: "open", Path: "a", Err: io.ErrUnexpectedEOF}
	err := sentinel.Mark(second, sentinel.Mark(first, fmt.Errorf("the text: %w", cause)))
	if want := "the text: open a: unexpected EOF"; err.Error() != want {
		t.Errorf("the text is %q, want %q", err, want)
	}
	wrapped := fmt.Errorf("around: %w", err)
	for _, target := range []error{first, second, cause, io.ErrUnexpectedEOF} {
		if !errors.Is(wrapped, target) {
			t.Errorf("it is not %v", target)
		}
	}
	if errors.Is(wrapped, io.EOF) || !errors.As(wrapped, new(*fs.PathError)) {
		t.Error("it is an io.EOF, or not a PathError")
	}
}
