// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
)

// interruptKey is Ctrl-C.
const interruptKey = 3

// shellInput is what is typed. A Read of the prompt ends after a line, so that what was typed
// ahead is left for the next line, or for a question of the verb that runs. It is for one
// goroutine at a time.
type shellInput struct {
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
func (in *shellInput) Read(p []byte) (int, error) { return in.read(context.Background(), p) }

// read is Read until ctx ends. What is typed after that is left for the next read.
func (in *shellInput) read(ctx context.Context, p []byte) (int, error) {
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
func (in *shellInput) fill(ctx context.Context) error {
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
	*shellInput
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

// scriptLine is a line of a script, with what the read of it returned.
type scriptLine struct {
	text string
	err  error
}

// shellScript is the lines of an input that is not a terminal. A goroutine reads them, so that
// the end of a context ends the wait for a line; a read that never returns ends with the
// process.
type shellScript struct {
	lines chan scriptLine
	done  chan struct{}
}

func newShellScript(in io.Reader) *shellScript {
	s := &shellScript{make(chan scriptLine), make(chan struct{})}
	go s.read(bufio.NewReader(in))
	return s
}

func (s *shellScript) read(in *bufio.Reader) {
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

// readLine returns the next line, and [io.EOF] after the last one, or with it if no
// newline ends it.
func (s *shellScript) readLine(ctx context.Context) (string, error) {
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
func (s *shellScript) close() { close(s.done) }

// errQuote says that a quoted text has no end.
var errQuote = errors.New("a quote has no end")

// splitWords returns the words of a line. A word that contains spaces stands in 'quotes' or
// "quotes", in which nothing else has a meaning. A backslash before a space or a quote,
// outside of quotes, takes its meaning away; otherwise it is an ordinary character, as in
// paths and keys. # at the start of a word begins a comment.
func splitWords(line string) (words []string, err error) {
	s := splitter{rest: line}
	for s.skipSpace() {
		word, err := s.word()
		if err != nil {
			return words, err
		}
		words = append(words, word)
	}
	return words, nil
}

// splitter takes words from the begin of a text.
type splitter struct{ rest string }

// skipSpace reports whether a word follows.
func (s *splitter) skipSpace() bool {
	s.rest = strings.TrimLeft(s.rest, " \t\r\n")
	return s.rest != "" && s.rest[0] != '#'
}

func (s *splitter) word() (string, error) {
	var word strings.Builder
	for s.rest != "" {
		c := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			return word.String(), nil
		case c == '\'' || c == '"':
			quoted, after, found := strings.Cut(s.rest, string(c))
			word.WriteString(quoted)
			if s.rest = after; !found {
				return word.String(), errQuote
			}
		case c == '\\' && s.rest != "" && strings.IndexByte(" \t'\"", s.rest[0]) >= 0:
			word.WriteByte(s.rest[0])
			s.rest = s.rest[1:]
		default:
			word.WriteByte(c)
		}
	}
	return word.String(), nil
}

// quoteWord returns a word as split reads it.
func quoteWord(word string) string {
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\r\n'\"") && word[0] != '#' && !strings.HasSuffix(word, `\`):
		return word
	case !strings.Contains(word, "'"):
		return "'" + word + "'"
	case !strings.Contains(word, `"`):
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// splitPartial returns the words of the begin of a line and, apart, the word that is being
// typed, with the place where it begins.
func splitPartial(line string) (words []string, word string, at int) {
	s := splitter{rest: line}
	for s.skipSpace() {
		at = len(line) - len(s.rest)
		w, err := s.word()
		if s.rest == "" && (err != nil || !strings.HasSuffix(line, " ")) {
			return words, w, at
		}
		words = append(words, w)
	}
	return words, "", len(line)
}

// mostHistory is how many lines the history keeps.
const mostHistory = 1000

// shellHistory is the lines that were typed, in this shell and in those before: a
// [golang.org/x/term.History].
type shellHistory struct {
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
func loadHistory() (*shellHistory, error) {
	h := &shellHistory{}
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
func (h *shellHistory) trim() bool {
	more := len(h.lines) - mostHistory
	if more > 0 {
		h.lines = h.lines[more:]
	}
	return more > 0
}

// Add adds a line to the history, unless it is blank or that before it. Lines are kept
// in the file; when there are too many, the file is written anew.
func (h *shellHistory) Add(line string) {
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

func (h *shellHistory) append(line string) error {
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err = f.Chmod(0o600); err == nil { // it may be older
		_, err = f.WriteString(line + "\n")
	}
	return errors.Join(err, f.Close())
}

func (h *shellHistory) rewrite() error {
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
func (h *shellHistory) Len() int { return len(h.lines) }

// At returns a line; 0 is the newest.
func (h *shellHistory) At(i int) string { return h.lines[len(h.lines)-1-i] }
