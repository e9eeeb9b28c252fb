// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is a worker as the first process sees it.
type process struct {
	name  string
	cmd   *exec.Cmd
	input io.WriteCloser
	ended chan struct{} // closed when it has
}

// event is what a worker has told.
type event struct {
	from    *process
	what    string
	details string
	at      time.Time
}

// startProcess starts this program as a worker.
func startProcess(name string, p place, events chan<- event) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &process{name: name, cmd: exec.Command(self), ended: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), workerVariable+"="+name, p.variable+"="+p.value)
	w.cmd.Stderr = os.Stderr
	if w.input, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go w.listen(output, events)
	return w, nil
}

// listen hands on what the worker tells, until it ends.
func (w *process) listen(output io.Reader, events chan<- event) {
	defer close(w.ended)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		what, details, _ := strings.Cut(lines.Text(), " ")
		events <- event{w, what, details, time.Now()}
	}
	_ = w.cmd.Wait() // that of a process that was killed is an error
}

// kill is kill -9.
func (w *process) kill() error { return w.cmd.Process.Kill() }

// resign asks the worker to end its term.
func (w *process) resign() error {
	_, err := fmt.Fprintln(w.input, "resign")
	return err
}

// end asks the worker to end.
func (w *process) end() { _ = w.input.Close() }
