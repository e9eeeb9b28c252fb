// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
)

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
