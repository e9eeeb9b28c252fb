// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/codegen"
)

var update = flag.Bool("update", false, "rewrite the golden files of the scripts")

// TestMain lets the go commands of the tests see their own modules only, even where
// the tests run in a workspace.
func TestMain(m *testing.M) {
	os.Setenv("GOWORK", "off")
	os.Exit(m.Run())
}

// TestScripts runs testdata/*.txtar. Each is a module of its own outside the
// repository, with a replace for the checkout in its go.mod alone; nothing is
// downloaded.
//
// The command persistgen of a script runs within the test, so that all of them
// check the library's packages only once. The script generate builds the program,
// and runs that.
//
// With -short, as under the race detector, it runs few scripts, and none of the
// programs in them: those are compiled without the detector, so they would only
// run a second time, and type-checking takes several times as long with it.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	loadModules(t, root)
	shell := codegen.NewShell()
	commands := watchCommands(t, shell)
	commands["persistgen"] = persistgen(t, shell)
	inherited := goEnv(t, "GOCACHE", "GOMODCACHE", "GOFLAGS", "CGO_ENABLED")
	p := testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Cmds:          commands,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GOCACHE", inherited["GOCACHE"])
			e.Setenv("GOMODCACHE", inherited["GOMODCACHE"])
			e.Setenv("CGO_ENABLED", inherited["CGO_ENABLED"]) // else the scripts compile net, and what imports it, a second time
			e.Setenv("GOFLAGS", strings.TrimSpace(inherited["GOFLAGS"]+" -mod=mod"))
			e.Setenv("GOPROXY", "off")
			e.Setenv("GOSUMDB", "off")
			e.Values[environment{}] = slices.Clone(e.Vars)
			e.Values[backgroundKey{}] = &background{}
			return writeModule(e.WorkDir, root)
		},
	}
	if testing.Short() {
		p.Dir, p.Files = "", []string{"testdata/order.txtar", "testdata/fix.txtar", "testdata/packages.txtar", "testdata/type_errors2.txtar"}
	}
	testscript.Run(t, p)
}

// environment is the key of a script's environment in its values.
type environment struct{}

// persistgen is the command persistgen of scripts.
func persistgen(t *testing.T, shell *codegen.Shell) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, wantFailure bool, args []string) {
		env := ts.Value(environment{}).([]string)
		for _, name := range []string{"GOFILE", "GOLINE", "GOPACKAGE", "GOFLAGS", "CGO_ENABLED"} { // the first three are those that go generate sets
			env = append(env[:len(env):len(env)], name+"="+ts.Getenv(name))
		}
		code := shell.Run(t.Context(), ts.MkAbs("."), env, args, ts.Stdout(), ts.Stderr())
		if failed := code != 0; failed != wantFailure {
			ts.Fatalf("persistgen %s: exit code %d", strings.Join(args, " "), code)
		}
	}
}

// loadModules brings into the module cache what a module that requires this one
// needs, and a new machine does not have yet: this module's dependencies, and
// the go.mod files of theirs. What the tests run afterwards must do without
// downloads.
func loadModules(t *testing.T, root string) {
	t.Helper()
	dir := t.TempDir()
	if err := writeModule(dir, root); err != nil {
		t.Fatal(err)
	}
	flags := "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod")
	for verb, dir := range map[string]string{"download": root, "graph": dir} {
		cmd := exec.CommandContext(t.Context(), "go", "mod", verb)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), flags)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go mod %s: %v\n%s", verb, err, out)
		}
	}
}

// goEnv asks the go command for its settings.
func goEnv(t *testing.T, names ...string) map[string]string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for i, line := range strings.SplitN(strings.TrimSuffix(string(out), "\n"), "\n", len(names)) {
		values[names[i]] = line
	}
	return values
}

// writeModule makes dir a module that uses the checkout at root.
func writeModule(dir, root string) error {
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	goMod := "module example.com/user\n\ngo 1.26.0\n\nrequire github.com/kazahana-db/kazahana v0.0.0\n\n" +
		"replace github.com/kazahana-db/kazahana => " + root + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)
}
