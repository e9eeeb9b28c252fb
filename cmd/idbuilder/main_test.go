// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/servers"
	"github.com/kazahana-db/kazahana/internal/testcert"
)

var update = flag.Bool("update", false, "rewrite the golden files of the scripts")

// TestMain makes the commands idbuilder and curl available to the scripts: as
// processes of their own, with their own arguments, environment and signals.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"idbuilder": main, "curl": curl})
}

// TestScripts runs testdata/*.txtar.
func TestScripts(t *testing.T) { run(t, nil, nil, "testdata/*.txtar") }

// TestStores runs testdata/stores/*.txtar on each kind of store. The servers of tests do not
// sync, which the stores notice.
func TestStores(t *testing.T) {
	for name, settings := range map[string]func(t *testing.T) map[string]string{
		"postgresql": func(t *testing.T) map[string]string {
			return map[string]string{"IDBUILDER__STORAGE__POSTGRES__URL": servers.Postgres(t).NewDatabase(t), "IDBUILDER__STORAGE__POSTGRES__ACCEPT_LOSS": "true"}
		},
		"mysql": func(t *testing.T) map[string]string {
			return map[string]string{"IDBUILDER__STORAGE__MYSQL__URL": servers.MariaDB(t).NewDatabase(t), "IDBUILDER__STORAGE__MYSQL__ACCEPT_LOSS": "true"}
		},
		"redis": func(t *testing.T) map[string]string {
			return map[string]string{"IDBUILDER__STORAGE__REDIS__URL": "redis://" + servers.StartRedis(t).Addr + "/3"}
		},
		"embedded": func(*testing.T) map[string]string { return nil },
		"file":     func(*testing.T) map[string]string { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			env := settings(t)
			if env == nil {
				env = map[string]string{}
			}
			env["IDBUILDER__STORAGE__BACKEND"] = name
			run(t, env, nil, "testdata/stores/*.txtar")
		})
	}
}

// TestLostRedis runs testdata/lost/*.txtar on a Redis that the script restarts.
func TestLostRedis(t *testing.T) {
	redis := servers.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	settings := map[string]string{"IDBUILDER__STORAGE__BACKEND": "redis", "IDBUILDER__STORAGE__REDIS__URL": "redis://" + redis.Addr}
	run(t, settings, commands{"restart": func(*testscript.TestScript, bool, []string) { redis.Restart(t) }}, "testdata/lost/*.txtar")
}

// commands are commands of scripts. Those of testscript itself come first: its stop ends a
// script as passed.
type commands = map[string]func(ts *testscript.TestScript, neg bool, args []string)

// run runs scripts with settings in the environment, and more commands.
func run(t *testing.T, settings map[string]string, more commands, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d scripts, %v", pattern, len(files), err)
	}
	known := commands{"exits": exits, "serve": serve, "shutdown": stop, "freeport": freePort, "await": await, "collector": collect, "spans": showSpans}
	maps.Copy(known, more)
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Values[serverKey{}], e.Values[collectorKey{}] = &server{}, &collector{}
			e.Setenv("GORACE", os.Getenv("GORACE"))
			for name, value := range settings {
				e.Setenv(name, value)
			}
			e.Setenv("SETTINGS", strings.Join(slices.Collect(maps.Keys(settings)), " "))
			return testcert.Write(e.WorkDir)
		},
		Cmds: known,
	})
}

// exits runs the command idbuilder and checks its exit code: exits 4 config get x.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code argument...")
	}
	err := ts.Exec("idbuilder", args[1:]...)
	if got := exitCode(err); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func exitCode(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &exit):
		return fmt.Sprint(exit.ExitCode())
	}
	return err.Error()
}
