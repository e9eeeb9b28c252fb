// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/servers"
)

// startRedis starts a Redis, which ends with t, and puts its URL into a variable:
// redis NAME.
func startRedis(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: redis variable")
		}
		ts.Setenv(args[0], "redis://"+servers.StartRedis(t).Addr)
	}
}
