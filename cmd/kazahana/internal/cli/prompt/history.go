// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mostHistory is how many lines the history keeps.
const mostHistory = 1000

// history is the lines that were typed, in this shell and in those before: a
// [golang.org/x/term.History].
type history struct {
	file  string // "": the lines are not kept
	lines []string
}

// historyFile returns the file of the history in the user's state directory.
func historyFile() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the XDG base directory specification says
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "kazahana", "history"), nil
}

// loadHistory reads the history. Its error says why lines will not be kept.
func loadHistory() (*history, error) {
	h := &history{}
	file, err := historyFile()
	if err != nil {
		return h, fmt.Errorf("the history is not kept: %w", err)
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return h, fmt.Errorf("the history is not kept: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return h, fmt.Errorf("the history is not kept: %w", err)
	}
	h.file = file
	for line := range strings.Lines(string(text)) {
		h.lines = append(h.lines, strings.TrimSuffix(line, "\n"))
	}
	h.trim()
	return h, nil
}

// trim drops the oldest lines, and reports whether it dropped any.
func (h *history) trim() bool {
	more := len(h.lines) - mostHistory
	if more > 0 {
		h.lines = h.lines[more:]
	}
	return more > 0
}

// Add adds a line to the history, unless it is blank or that before it. Lines are kept
// in the file; when there are too many, the file is written anew.
func (h *history) Add(line string) {
	if line = strings.TrimSpace(line); line == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	dropped := h.trim()
	if h.file == "" {
		return
	}
	err := h.append(line)
	if dropped {
		err = errors.Join(err, h.rewrite())
	}
	if err != nil {
		h.file = "" // the disk is full, or the folder is gone
	}
}

func (h *history) append(line string) error {
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err = f.Chmod(0o600); err == nil { // it may be older
		_, err = f.WriteString(line + "\n")
	}
	return errors.Join(err, f.Close())
}

func (h *history) rewrite() error {
	fresh := h.file + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, iofs.ErrNotExist) { // it would keep its mode
		return err
	}
	if err := os.WriteFile(fresh, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, h.file)
}

// Len returns the number of lines.
func (h *history) Len() int { return len(h.lines) }

// At returns a line; 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
