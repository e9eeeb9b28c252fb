// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// dialog is the shell of a person at a terminal.
type dialog struct {
	*state
	terminal *os.File // what is typed
	out      *os.File // the prompt
	in       *input
	history  *history
	signals  chan os.Signal
}

// talk runs lines that are typed, until the shell is ended.
func (s *state) talk(ctx context.Context) error {
	terminal, out := s.console.Terminals()
	d := &dialog{state: s, terminal: terminal, out: out, in: &input{from: terminal}, signals: make(chan os.Signal, 1)}
	var err error
	if d.history, err = loadHistory(); err != nil {
		fmt.Fprintln(s.console.Err, err)
	}
	signal.Notify(d.signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(d.signals)
	for !s.ended {
		line, err := d.readLine()
		switch {
		case errors.Is(err, errInterrupted):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if d.runLine(line) == syscall.SIGTERM {
			return context.Cause(ctx)
		}
	}
	return nil
}

// errInterrupted says that Ctrl-C has cleared a line.
var errInterrupted = errors.New("interrupted")

// readLine reads a line. The terminal is in raw mode meanwhile.
func (d *dialog) readLine() (string, error) {
	was, err := term.MakeRaw(int(d.terminal.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(d.terminal.Fd()), was)
	line, err := d.editLine()
	if errors.Is(err, io.EOF) && d.in.interrupted {
		d.in.interrupted = false
		fmt.Fprint(d.out, "^C\r\n")
		return "", errInterrupted
	}
	if errors.Is(err, io.EOF) {
		fmt.Fprint(d.out, "\r\n")
	}
	return line, err
}

// editLine lets a person edit a line, until a key or a signal ends it.
func (d *dialog) editLine() (string, error) {
	t := term.NewTerminal(readWriter{d.in, d.out}, d.prompt())
	t.History = d.history
	if width, height, err := term.GetSize(int(d.out.Fd())); err == nil && width > 0 {
		_ = t.SetSize(width, height) // of a terminal whose size is known
	}
	t.AutoCompleteCallback = func(line string, cursor int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		completed, at, choice := d.complete(line, cursor)
		if len(choice) > 0 {
			fmt.Fprintln(t, strings.Join(choice, "  "))
		}
		return completed, at, true
	}
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := t.ReadLine()
		read <- result{line, err}
	}()
	for {
		select {
		case r := <-read:
			return r.line, r.err
		case s := <-d.signals:
			if s == syscall.SIGTERM {
				return "", io.EOF // the process ends, and with it the read
			}
		}
	}
}

func (d *dialog) prompt() string {
	return "kazahana /" + strings.TrimPrefix(database.FormatPath(d.session.Path()), "/") + "> "
}

// runLine runs a line. Ctrl-C ends the command and not the shell. The signal is the one
// that has ended the command, or nil.
func (d *dialog) runLine(line string) (ended os.Signal) {
	words, err := split(line)
	if err == nil && len(words) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	c := d.console.Again(words, commandInput{d.in, ctx})
	if err != nil {
		d.fail(c, shell.Invalid(err))
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- d.run(ctx, c, words) }()
	for {
		select {
		case err := <-done:
			if ended != nil {
				err = errors.Join(err, errors.New("the command was interrupted"))
			}
			if err != nil {
				d.fail(c, err)
			}
			return ended
		case ended = <-d.signals:
			cancel()
		}
	}
}

// readWriter is a terminal.
type readWriter struct {
	io.Reader
	io.Writer
}
