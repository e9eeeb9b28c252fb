// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os/exec"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// redis starts a Redis and puts its URL into a variable: redis NAME.
func redis(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: redis variable")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	address := listener.Addr().(*net.TCPAddr)
	ts.Check(listener.Close())
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(address.Port), "--dir", ts.MkAbs("."), "--save", "")
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", address.String())
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			ts.Fatalf("redis-server does not answer: %v", err)
		}
	}
	ts.Setenv(args[0], "redis://"+address.String())
}
