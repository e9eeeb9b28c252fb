// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the command persistvet available to the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"persistvet": main})
}

// TestScripts runs testdata/*.txtar. Their folder kazahana is a module with the
// declarations of Kazahana by which the analyzers recognise transactions: to load the
// real packages would take longer than all else.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
	})
}

func setUp(e *testscript.Env) error {
	stubs := filepath.Join("..", "..", "persistvet", "testdata", "src", "github.com", "kazahana-db", "kazahana")
	module := filepath.Join(e.WorkDir, "kazahana")
	if err := os.CopyFS(module, os.DirFS(stubs)); err != nil {
		return err
	}
	tool, err := exec.LookPath("persistvet")
	if err != nil {
		return err
	}
	e.Setenv("PERSISTVET", tool)
	for _, name := range []string{"HOME", "GOCACHE", "GOFLAGS"} {
		if value, ok := os.LookupEnv(name); ok {
			e.Setenv(name, value)
		}
	}
	e.Setenv("CGO_ENABLED", "0")
	return os.WriteFile(filepath.Join(module, "go.mod"), []byte("module github.com/kazahana-db/kazahana\n\ngo 1.26\n"), 0o600)
}
