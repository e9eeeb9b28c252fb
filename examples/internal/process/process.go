// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Process is another process of this program. Its methods are safe for concurrent use.
type Process struct {
	Name  string
	cmd   *exec.Cmd
	input io.WriteCloser
	ended chan struct{}
}

// Event is a line that a process has written: a word, and what follows it.
type Event struct {
	From    *Process
	What    string
	Details string
	At      time.Time
}

// Program returns the file of the program that Start starts: this one. Tests start another version of it.
var Program = os.Executable

// Start starts this program with more variables in its environment. Each line that it
// writes is sent to events, to which the caller must listen until [Process.Ended]. What it
// writes as errors goes to this process's.
func Start(name string, env []string, events chan<- Event) (*Process, error) {
	self, err := Program()
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, cmd: exec.Command(self), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(output, events)
	return p, nil
}

// listen hands on what the process writes, until it ends.
func (p *Process) listen(output io.Reader, events chan<- Event) {
	defer close(p.ended)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		what, details, _ := strings.Cut(lines.Text(), " ")
		events <- Event{p, what, details, time.Now()}
	}
	_ = p.cmd.Wait() // that of a process that was killed is an error
}

// Tell writes a line to the process.
func (p *Process) Tell(line string) error {
	_, err := fmt.Fprintln(p.input, line)
	return err
}

// Kill is kill -9.
func (p *Process) Kill() error { return p.cmd.Process.Kill() }

// End asks the process to end: it closes its input.
func (p *Process) End() { _ = p.input.Close() }

// Ended is closed when the process has ended and all its lines were sent.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Await waits until the process has ended. While it waits it takes and drops the events of
// all processes: a process that cannot send its events does not end. events may be nil if
// another goroutine takes them. Await kills a process that has not ended after patience.
func (p *Process) Await(events <-chan Event, patience time.Duration) {
	late := time.After(patience)
	for {
		select {
		case <-events:
		case <-late:
			_ = p.Kill()
			late = nil
		case <-p.ended:
			return
		}
	}
}
