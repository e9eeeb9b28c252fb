// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/testcert"
)

var update = flag.Bool("update", false, "rewrite the golden files of the scripts")

// commandVariable makes the test binary the command kazahana.
const commandVariable = "KAZAHANA_TEST_COMMAND"

// TestMain makes the command kazahana available to the scripts: as a process of
// its own, with its own arguments, environment and signals.
func TestMain(m *testing.M) {
	database.CompletionTime = time.Hour
	if os.Getenv(commandVariable) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"kazahana": main})
}

// TestScripts runs testdata/*.txtar.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Values[serverKey{}] = &server{}
			e.Values[testKey{}] = e.T()
			e.Values[scriptPageKey{}] = &scriptPage{}
			e.Setenv("GORACE", os.Getenv("GORACE"))
			return testcert.Write(e.WorkDir)
		},
		RequireUniqueNames: true,
		Condition:          condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "folders": makeFolders, "placed": placed, "redis": startRedis(t), "serve": serve, "metrics": metrics,
			"page": getPage, "attach": attach, "seed": seedDatabase, "damage": damageDatabase, "shutdown": stop,
			"duplicate": duplicate, "outdate": outdate, "remove": remove, "spoil": spoil, "token": setToken, "unlock": unlockDatabase,
		},
	})
}

// testKey is the key of a script's test, which is a [testing.TB].
type testKey struct{}

// condition tells whether [cluster] holds: the database of seed and placed is a cluster.
func condition(name string) (bool, error) {
	if name != "cluster" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return onCluster, nil
}

// exits runs the command kazahana and checks its exit code: exits 3 id decode x.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code argument...")
	}
	err := ts.Exec("kazahana", args[1:]...)
	if got := exitCode(err); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}
