// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/rogpeppe/go-internal/testscript"
)

// redis starts a Redis and puts its URL into a variable: redis NAME.
func redis(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: redis variable")
	}
	logging.Disable() // connections fail until Redis listens
	for range 10 {
		// Below the ports that systems give to clients, so that no other
		// program is given it before Redis has it.
		port := fmt.Sprint(10_000 + rand.IntN(20_000))
		if err := startRedis(ts, port); err == nil {
			ts.Setenv(args[0], "redis://127.0.0.1:"+port)
			return
		}
	}
	ts.Fatalf("redis-server does not start at any of ten ports")
}

// startRedis starts a Redis, and waits until it answers or ends.
func startRedis(ts *testscript.TestScript, port string) error {
	cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", ts.MkAbs("."), "--save", "")
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, ended := context.WithCancel(context.Background())
	go func() {
		_ = cmd.Wait() // it is killed, or its port is another program's
		ended()
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-ctx.Done()
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if ownRedis(cmd.Process.Pid, port) {
			return nil
		}
	}
	return errors.New("it does not answer")
}

// ownRedis reports whether the Redis that answers at a port is the process.
func ownRedis(pid int, port string) bool {
	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:" + port, MaxRetries: -1})
	defer client.Close()
	info, err := client.Info(context.Background(), "server").Result()
	return err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", pid))
}
