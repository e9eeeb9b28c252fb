// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"fmt"
	"math/rand/v2"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a worker may take for a call, and a command to end, on a machine that does much else, too.
const patience = 5 * time.Minute

// process is a worker in a process of its own.
type process struct {
	version Version
	cmd     *exec.Cmd
	client  *rpc.Client
}

// startWorker starts a worker of the next version, and has it open the database.
func startWorker(t *testing.T, p Place) (*process, error) {
	program, version, err := Next()
	if err != nil {
		return nil, err
	}
	w := &process{version: version, cmd: exec.Command(program)}
	w.cmd.Env = append(os.Environ(), workerVariable+"=1")
	w.cmd.Stderr = t.Output()
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.client = jsonrpc.NewClient(stdio{out, in})
	p.Newer = version == Today
	return w, w.call("Open", p, &Empty{})
}

// tooSlow are what calls say that were too slow for the machine, and have done nothing.
var tooSlow = []string{"transaction_too_old", "failed to acquire a lease"}

// call calls a method of the worker, again if the machine was too slow for it.
func (w *process) call(method string, args, reply any) error {
	late := time.After(patience)
	for {
		select {
		case call := <-w.client.Go("Worker."+method, args, reply, make(chan *rpc.Call, 1)).Done:
			if call.Error == nil {
				return nil
			}
			if !slices.ContainsFunc(tooSlow, func(text string) bool { return strings.Contains(call.Error.Error(), text) }) {
				return fmt.Errorf("%s of the %s version: %w", method, w.version, call.Error)
			}
			time.Sleep(100 * time.Millisecond)
		case <-late:
			return fmt.Errorf("%s of the %s version does not end", method, w.version)
		}
	}
}

// kill is kill -9.
func (w *process) kill() {
	_ = w.cmd.Process.Kill()
	_ = w.client.Close()
	_ = w.cmd.Wait()
}

// end has the worker close the database, and waits until it has ended.
func (w *process) end() error {
	defer time.AfterFunc(patience, func() { _ = w.cmd.Process.Kill() }).Stop()
	_ = w.client.Close()
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("a worker of the %s version ends: %w", w.version, err)
	}
	return nil
}

// fleet is the workers on a database. Its methods are safe for concurrent use.
type fleet struct {
	t     *testing.T
	place Place

	mu      sync.RWMutex // read: a call is under way; written: a worker is replaced
	workers []*process
}

// startFleet starts n workers, until the test ends.
func startFleet(t *testing.T, p Place, n int) *fleet {
	f := &fleet{t: t, place: p}
	t.Cleanup(func() {
		for _, w := range f.workers {
			w.kill()
		}
	})
	for range n {
		f.workers = append(f.workers, must(startWorker(t, p))(t))
	}
	return f
}

// must returns a value, or fails the test with the error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call calls a method of any worker.
func (f *fleet) call(random *rand.Rand, method string, args, reply any) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.workers[random.IntN(len(f.workers))].call(method, args, reply)
}

// replace ends any worker, in order or as a crash does, and starts one of the next version.
func (f *fleet) replace(random *rand.Rand) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := random.IntN(len(f.workers))
	if random.IntN(2) == 0 {
		f.workers[i].kill()
	} else if err := f.workers[i].end(); err != nil {
		return err
	}
	next, err := startWorker(f.t, f.place)
	if next != nil {
		f.workers[i] = next
	}
	return err
}
