// SPDX-License-Identifier: Apache-2.0

package protoactor_test

import (
	"encoding/json"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// process is a member in a process of its own.
type process struct {
	name   string
	cmd    *exec.Cmd
	client *rpc.Client
	wait   func() error
}

// start starts a member, and waits until the member is listed.
func start(t *testing.T, c memberConfig) *process {
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), memberEnv+"="+string(config))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{name: c.Name, cmd: cmd, client: rpc.NewClient(pipes{out, in}), wait: sync.OnceValue(cmd.Wait)}
	t.Cleanup(p.kill)
	return p
}

// pipes is a connection by the pipes of a process.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

// Write implements [io.Writer].
func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// kill kills the process, as `kill -9` does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.wait()
}

// ask makes one request from the process.
func (p *process) ask(a Question) (found Answer, err error) {
	return found, p.client.Call("Member.Ask", a, &found)
}

// active returns the epochs of the activations in the process, by kind/id.
func (p *process) active(t *testing.T) map[string]int64 {
	t.Helper()
	var found map[string]int64
	if err := p.client.Call("Member.Active", 0, &found); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return found
}
