// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bufio"
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/codegen"
	"github.com/rogpeppe/go-internal/testscript"
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

// background is persistgen -watch while a script changes files.
type background struct {
	cancel context.CancelFunc
	lines  chan string // of its stderr; closed at its end
	code   int         // valid when lines is closed
}

// backgroundKey is the key of a script's *background in its values.
type backgroundKey struct{}

// watchCommands are commands of scripts:
//
//	watch ARGS            starts persistgen -watch ARGS
//	await REGEX           takes the next line of its output, which must match
//	interrupt             ends it as Ctrl-C does; all its output must have been taken
//	replace OLD NEW FILE  changes a file by renaming another
//	append FROM TO        adds a file's text to another file, in place
//	appear FILE           waits until there is a file, for programs that a script starts
func watchCommands(t *testing.T, shell *codegen.Shell) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"watch":     func(ts *testscript.TestScript, _ bool, args []string) { start(t, ts, shell, args) },
		"await":     func(ts *testscript.TestScript, _ bool, args []string) { await(t, ts, regexp.MustCompile(args[0])) },
		"interrupt": func(ts *testscript.TestScript, _ bool, _ []string) { interrupt(ts) },
		"replace":   func(ts *testscript.TestScript, _ bool, args []string) { replace(ts, args[0], args[1], args[2]) },
		"appear":    func(ts *testscript.TestScript, _ bool, args []string) { appear(t, ts, args[0]) },
		"append": func(ts *testscript.TestScript, _ bool, args []string) {
			file, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_WRONLY, 0)
			ts.Check(err)
			_, err = file.WriteString(ts.ReadFile(args[0]))
			ts.Check(err)
			ts.Check(file.Close())
		},
	}
}

func start(t *testing.T, ts *testscript.TestScript, shell *codegen.Shell, args []string) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	b := ts.Value(backgroundKey{}).(*background)
	b.cancel, b.lines = cancel, make(chan string)
	dir, env, lines, ended := ts.MkAbs("."), ts.Value(environment{}).([]string), b.lines, make(chan struct{})
	go func() {
		b.code = shell.Run(ctx, dir, env, append([]string{"-watch"}, args...), io.Discard, write)
		_ = write.Close()
	}()
	go func() {
		defer close(ended)
		for scanner := bufio.NewScanner(read); scanner.Scan(); {
			lines <- scanner.Text()
		}
		close(lines)
	}()
	ts.Defer(func() {
		cancel()
		for range lines { // a script that failed has left some
		}
		<-ended
	})
}

// longestWait returns how long a script may wait: until shortly before the test's
// deadline, and at most five minutes, so that the script that waits in vain is named.
func longestWait(t *testing.T) time.Duration {
	longest := 5 * time.Minute
	if deadline, ok := t.Deadline(); ok {
		longest = min(longest, time.Until(deadline)-5*time.Second)
	}
	return longest
}

// await waits for a line.
func await(t *testing.T, ts *testscript.TestScript, want *regexp.Regexp) {
	select {
	case line, open := <-ts.Value(backgroundKey{}).(*background).lines:
		if !open || !want.MatchString(line) {
			ts.Fatalf("the next line is %q, and should match %s", line, want)
		}
	case <-time.After(longestWait(t)):
		ts.Fatalf("no line came; the next one should match %s", want)
	}
}

func interrupt(ts *testscript.TestScript) {
	b := ts.Value(backgroundKey{}).(*background)
	b.cancel()
	for line := range b.lines {
		ts.Fatalf("there is more output: %q", line)
	}
	if b.code != 0 {
		ts.Fatalf("exit code %d", b.code)
	}
}

func replace(ts *testscript.TestScript, old, now, file string) {
	content := ts.ReadFile(file)
	if !strings.Contains(content, old) {
		ts.Fatalf("%s has no %s", file, old)
	}
	temporary := ts.MkAbs(file + "~")
	ts.Check(os.WriteFile(temporary, []byte(strings.Replace(content, old, now, 1)), 0o600))
	ts.Check(os.Rename(temporary, ts.MkAbs(file)))
}

// appear waits until there is a file.
func appear(t *testing.T, ts *testscript.TestScript, file string) {
	ticker, late := time.NewTicker(20*time.Millisecond), time.After(longestWait(t))
	defer ticker.Stop()
	for {
		if _, err := os.Stat(ts.MkAbs(file)); err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-late:
			ts.Fatalf("there is no %s", file)
		}
	}
}
