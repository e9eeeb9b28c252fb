// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout is how long a server may take to answer, on a machine with many
	// more processes than processors too.
	startTimeout = 3 * time.Minute
	// checkTimeout is how long one question to a server may take. A server that is
	// starting may accept a connection that it never answers.
	checkTimeout = 10 * time.Second
	// attempts is how often a server is started. Another process may take its port
	// between the probe and the start, or probe it while the server starts again.
	attempts = 5
)

// Server is a server that this process has started. It can be stopped and
// started again, on the same data and port, by one goroutine at a time.
type Server struct {
	// Addr is where the server listens: 127.0.0.1 and a port.
	Addr string
	// Folder is where it keeps its data.
	Folder string

	args    []string // program and arguments
	account *account
	check   func(context.Context) error // returns nil if a server answers at Addr
	log     string

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil if it does not run
	ended  chan struct{} // closed when cmd has ended
	paused []int
}

// Start starts a server that was stopped, and waits until it answers.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	err := s.start()
	for n := 1; n < attempts && errors.Is(err, errEnded); n++ {
		err = s.start()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Kill ends the server and all its processes at once, as the end of its machine
// would, but for what the system still writes to the disk.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	s.end(tb, func(process *os.Process) error { return killAll(process.Pid) })
}

// Terminate asks the server to end, and waits until it has.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	s.end(tb, func(process *os.Process) error { return process.Signal(syscall.SIGTERM) })
}

// Restart kills the server and starts it again.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.Kill(tb)
	s.Start(tb)
}

// Pause stops all processes of the server for a while: connections stay open,
// nothing answers. [Server.Resume] or the end of the test lets them go on.
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	pids, err := stopAll(s.cmd.Process.Pid)
	if err != nil {
		tb.Fatal(err)
	}
	s.paused = pids
	tb.Cleanup(s.resume)
}

// Resume ends a pause.
func (s *Server) Resume(tb testing.TB) {
	tb.Helper()
	s.resume()
}

func (s *Server) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	resumeAll(s.paused)
	s.paused = nil
}

// Log returns what the server has written about itself.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		return errors.New("servers: it runs already")
	}
	cmd, ended, err := run(s.args, s.account, s.Folder, s.log)
	if err != nil {
		return err
	}
	if err := s.awaitAnswer(cmd.Process.Pid, ended); err != nil {
		_ = killAll(cmd.Process.Pid)
		<-ended
		return fmt.Errorf("servers: %s at %s: %w\n%s", filepath.Base(s.args[0]), s.Addr, err, s.Log())
	}
	s.cmd, s.ended = cmd, ended
	return nil
}

// errEnded says that a server has ended instead of answering.
var errEnded = errors.New("it has ended")

// awaitAnswer waits until the server answers. Where another server has taken the
// port, that one answers until this one has noticed and ends: the answer counts only
// if this server listens.
func (s *Server) awaitAnswer(pid int, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		err := s.checkOnce(ctx, pid)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// checkOnce asks once whether the server answers.
func (s *Server) checkOnce(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := s.check(ctx); err != nil {
		return err
	}
	if !listens(pid, s.Addr) {
		return errors.New("another process listens there")
	}
	return nil
}

// end ends the server by a signal, unless it has ended already.
func (s *Server) end(tb testing.TB, send func(*os.Process) error) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	if err := send(s.cmd.Process); err != nil {
		tb.Fatal(err)
	}
	resumeAll(s.paused) // a stopped process handles no SIGTERM
	<-s.ended
	s.cmd, s.paused = nil, nil
}

// run starts a program from a thread that lasts for as long as the program does:
// the kernel ends the program with its thread, not with the process. See
// golang/go#27505.
func run(args []string, account *account, folder, log string) (*exec.Cmd, chan struct{}, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, file, file
	cmd.SysProcAttr = attributes(account)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	return cmd, ended, <-started
}

// must returns a started server, or skips the test if its program is missing.
func must[S any](tb testing.TB, start func() (S, error), program func() (string, error), debian, homebrew string) S {
	tb.Helper()
	if _, err := program(); err != nil {
		skip(tb, err, debian, homebrew)
	}
	s, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// FreePort returns a port that is free on the loopback interface, as is the one
// 10,000 above, where members of a Redis cluster talk. Both lie below the ports
// that systems give to outgoing connections, so that a server that restarts
// finds its port free.
func FreePort() (int, error) {
	var err error
	for range 100 {
		port := 10_000 + rand.IntN(12_000)
		if err = probe(port); err == nil {
			err = probe(port + 10_000)
		}
		if err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("servers: 100 ports in a row are taken, the last one: %w", err)
}

func probe(port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return listener.Close()
}

// find returns the path of a program: the first of the names that is on PATH or
// in one of the folders, which are patterns of which the last match is newest.
func find(names []string, folders ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, folder := range folders {
			matches, _ := filepath.Glob(filepath.Join(folder, name))
			slices.Reverse(matches)
			if len(matches) > 0 {
				return matches[0], nil
			}
		}
	}
	return "", fmt.Errorf("%s is not installed", names[0])
}

// skip skips a test that lacks a server; in CI it fails.
func skip(tb testing.TB, err error, debian, homebrew string) {
	tb.Helper()
	text := fmt.Sprintf("%v: install it (apt-get install %s, brew install %s) to run this test", err, debian, homebrew)
	if os.Getenv("CI") == "true" {
		tb.Fatal(text)
	}
	tb.Skip(text)
}

// kind is what differs between the programs.
type kind struct {
	prepare [][]string // commands that make the data
	args    func(port int) []string
	check   func(ctx context.Context, addr string) error
}

// newServer starts a server with an empty folder.
func newServer(account *account, folder string, k kind) (*Server, error) {
	for _, command := range k.prepare {
		if err := prepare(account, folder, command); err != nil {
			return nil, err
		}
	}
	var err error
	for range attempts {
		port, free := FreePort()
		if free != nil {
			return nil, free
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		s := &Server{Addr: addr, Folder: folder, account: account, log: folder + ".log", args: k.args(port)}
		s.check = func(ctx context.Context) error { return k.check(ctx, addr) }
		if err = s.start(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// prepare runs a command to its end.
func prepare(account *account, folder string, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.SysProcAttr = folder, attributes(account)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("servers: %s: %w\n%s", command[0], err, out)
	}
	return nil
}

// killAtEnd stops a test's own server when the test ends.
func killAtEnd(tb testing.TB, s *Server) {
	tb.Cleanup(func() { s.Kill(tb) })
}
