// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// server is a Redis that a test has started, with its data in a folder of the
// test.
type server struct {
	addr string
	args []string
	log  bytes.Buffer
	cmd  *exec.Cmd
}

// start starts a Redis on a free port of the loopback interface.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		const remedy = "redis-server is not on PATH: install it (apt-get install redis-server, brew install redis)"
		if os.Getenv("CI") != "" {
			t.Fatal(remedy)
		}
		t.Skip(remedy + " to run the tests of lease/redis")
	}
	port := freePort(t)
	s := &server{addr: fmt.Sprintf("127.0.0.1:%d", port)}
	s.args = append([]string{path, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", t.TempDir(), "--save", ""}, args...)
	s.run(t)
	t.Cleanup(s.stop)
	return s
}

// freePort returns a port that is free, as is the one 10,000 above, where
// members of a cluster talk.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if port < 55_000 {
			return port
		}
	}
}

func (s *server) run(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.ready(t, func(ctx context.Context, client *goredis.Client) error { return client.Ping(ctx).Err() })
}

// ready waits until check succeeds.
func (s *server) ready(t *testing.T, check func(context.Context, *goredis.Client) error) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: s.addr})
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		err := check(ctx, client)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.stop()
			t.Fatalf("redis-server at %s: %v\n%s", s.addr, err, s.log.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) restart(t *testing.T) {
	t.Helper()
	s.stop()
	s.run(t)
}
