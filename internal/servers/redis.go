// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
)

// StartRedis starts a Redis of the test's own, with further arguments for
// redis-server, such as "--appendonly", "yes".
func StartRedis(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := must(tb, func() (*Server, error) { return startRedis(args) }, redisProgram, "redis-server", "redis")
	killAtEnd(tb, s)
	return s
}

func redisProgram() (string, error) { return find([]string{"redis-server"}) }

func startRedis(args []string) (*Server, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	folder, err := newFolder("redis", nil)
	if err != nil {
		return nil, err
	}
	return newServer(nil, folder, kind{
		args: func(port int) []string {
			return append([]string{program, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", folder, "--save", ""}, args...)
		},
		check: pingRedis,
	})
}

// pingRedis asks whether a Redis answers with data, which it does not while it
// reads what it has stored. One that wants a password is up.
func pingRedis(ctx context.Context, addr string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(answer, "+PONG") && !strings.HasPrefix(answer, "-NOAUTH") {
		return fmt.Errorf("redis answers %q", strings.TrimSpace(answer))
	}
	return err
}
