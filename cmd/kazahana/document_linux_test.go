// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli"
)

// repository is the root of the repository.
var repository = filepath.Join("..", "..")

// TestDocumented runs the commands of docs/operations.md in the order of the page, on the databases of
// the quickstart and of the shop, and compares what they write with what the page shows, or else with
// testdata/document/operations.txt. Numbers, sizes and keys differ in each run, and do not count.
// Commands with --cluster-file are run if there is a cluster.
func TestDocumented(t *testing.T) {
	golden := filepath.Join("testdata", "document", "operations.txt")
	r := newReader(t)
	var unseen strings.Builder
	for _, c := range commandsOf(page(t, "docs/operations.md"), "kazahana") {
		onlyCluster := strings.Contains(c.Text, "--cluster-file")
		if !c.Run || onlyCluster && !onCluster {
			continue
		}
		got := kind(r.run(c))
		switch {
		case c.Output != "":
			if diff := cmp.Diff(kind(c.Output), got); diff != "" {
				t.Errorf("docs/operations.md:%d: %s writes something else (-page +command):\n%s", c.Line, c.Text, diff)
			}
		case !onlyCluster:
			unseen.WriteString("$ " + c.Text + "\n" + got)
		}
	}
	if *update {
		r.check(os.WriteFile(golden, []byte(unseen.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	r.check(err)
	if diff := cmp.Diff(string(want), unseen.String()); diff != "" {
		t.Errorf("the commands of docs/operations.md write something else (-%s +commands); -args -update rewrites it:\n%s", golden, diff)
	}
}

// TestDocumentedFlags checks that each command of the pages is there, with its flags.
func TestDocumentedFlags(t *testing.T) {
	paths := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			paths = append(paths, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
		}
	}
	for _, path := range paths {
		if path == "docs/layout.md" { // it has texts that begin like commands
			continue
		}
		for _, c := range commandsOf(page(t, path), "kazahana") {
			for _, call := range calls.FindAllString(c.Text, -1) {
				if fault := misuse(t, call); fault != "" {
					t.Errorf("%s:%d: %s: %s", path, c.Line, call, fault)
				}
			}
		}
	}
}

var (
	calls = regexp.MustCompile(`(?:^|[ ;&|/])kazahana(?:@latest)?(?: [^#|;&\n<>]*)?`)
	words = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flags = regexp.MustCompile(`(?:^|[ (])(--?[a-z][a-z-]*)`)
)

// misuse returns what is wrong with the verb or the flags of a command.
func misuse(t *testing.T, call string) string {
	t.Helper()
	args := regexp.MustCompile(`'[^']*'`).ReplaceAllString(call, "X") // what a shell takes for one word
	_, args, _ = strings.Cut(args, "kazahana")
	var verb []string
	for _, word := range strings.Fields(strings.TrimPrefix(args, "@latest")) {
		if !words.MatchString(word) {
			break
		}
		verb = append(verb, word)
	}
	for {
		help, code := helpOf(t, verb)
		switch {
		case code != cli.ExitDone && len(verb) > 1:
			verb = verb[:len(verb)-1] // an argument, as far as the verb takes some
			if help, code = helpOf(t, verb); code == cli.ExitDone && strings.Contains(help, "\nAvailable Commands:") {
				return "there is no such verb"
			}
			continue
		case code != cli.ExitDone:
			return "there is no such verb"
		}
		for _, flag := range flags.FindAllStringSubmatch(args, -1) {
			if name := flag[1]; name != "--version" && !regexp.MustCompile(`(?m)^ +(-\w, )?`+name+`\b|^ +`+name+`, `).MatchString(help) {
				return "it has no flag " + name
			}
		}
		return ""
	}
}

// helpOf returns the help of a verb, and its exit code.
func helpOf(t *testing.T, verb []string) (string, int) {
	var out bytes.Buffer
	code := cli.Run(t.Context(), append([]string{"help"}, verb...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	return out.String(), code
}

func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reader follows a page: in a folder, with a shell.
type reader struct {
	*testing.T
	dir string
	env []string
}

// newReader returns a reader in a folder with what the page needs of the repository.
func newReader(t *testing.T) *reader {
	t.Helper()
	bin := t.TempDir()
	r := &reader{t, t.TempDir(), append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_STATE_HOME="+t.TempDir())}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./examples/quickstart", "./examples/shop")
	build.Dir, build.Env = repository, append(os.Environ(), "CGO_ENABLED=0") // as built for other tests
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lock, err := os.ReadFile(filepath.Join(repository, "examples", "quickstart", "persist.lock"))
	r.check(err)
	r.check(os.MkdirAll(filepath.Join(r.dir, "examples", "quickstart"), 0o700))
	r.check(os.WriteFile(filepath.Join(r.dir, "examples", "quickstart", "persist.lock"), lock, 0o600))
	if file := wholeCluster(t); file != "" {
		text, err := os.ReadFile(file)
		r.check(err)
		r.check(os.WriteFile(filepath.Join(r.dir, "fdb.cluster"), text, 0o600))
	}
	return r
}

func (r *reader) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// assignment matches a setting of the shell that holds for later commands, too.
var assignment = regexp.MustCompile(`^export (\w+=[^ ]*)`)

// run runs a command and returns what it writes. It fails if the page shows an error, and only then.
func (r *reader) run(c pageCommand) string {
	r.Helper()
	if set := assignment.FindStringSubmatch(c.Text); set != nil {
		r.env = append(r.env, set[1])
		return ""
	}
	const examples = `go() { if [ "$1" = run ]; then "${2##*/}" >/dev/null; else command go "$@"; fi; }; `
	cmd := exec.CommandContext(r.Context(), "sh", "-c", examples+c.Text)
	cmd.Dir, cmd.Env = r.dir, r.env
	var out bytes.Buffer
	var err error
	if _, answer, asks := strings.Cut(c.Output, "[y/N] "); asks {
		err = r.answer(cmd, &out, answer[:1])
	} else {
		cmd.Stdout, cmd.Stderr = &out, &out
		err = cmd.Run()
	}
	if fails := strings.Contains("\n"+c.Output, "\nkazahana: "); (err != nil) != fails {
		r.Errorf("docs/operations.md:%d: %s: %v\n%s", c.Line, c.Text, err, &out)
	}
	return out.String()
}

// answer runs a command on a terminal and answers its question.
func (r *reader) answer(cmd *exec.Cmd, out *bytes.Buffer, with string) error {
	k := onTerminal(r.T, cmd)
	for p := make([]byte, 1024); ; {
		n, err := k.pty.Read(p)
		out.Write(p[:n])
		if with != "" && bytes.HasSuffix(out.Bytes(), []byte("[y/N] ")) {
			k.enter(with + "\r")
			with = ""
		}
		if err != nil {
			if !errors.Is(err, syscall.EIO) && !errors.Is(err, io.EOF) { // EIO: the process has ended
				r.Errorf("%v: %v", cmd, err)
			}
			return cmd.Wait()
		}
	}
}

// differing are the parts of an output that differ from run to run, and what stands for them.
var differing = []struct {
	pattern *regexp.Regexp
	kind    string
}{
	{regexp.MustCompile("\r"), ""},
	{regexp.MustCompile(`(?m)^[0-9]+ +[0-9]+ writes? .*$`), "LOGGED"},
	{regexp.MustCompile(`\b0x[0-9a-f]+`), "HEX"},
	{regexp.MustCompile(`"next":"[^"]*"|--token \S+`), "TOKEN"},
	{regexp.MustCompile(`\b[0-9][0-9.,]* ?(B|kB|MB|bytes)\b`), "SIZE"},
	{regexp.MustCompile(`\b[0-9.]+(ns|µs|ms|s)\b`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{16,}\b`), "0"},
	{regexp.MustCompile(`[0-9]+`), "0"},
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(`(?m)^(largest)?  \S+  SIZE\n`), ""}, // of stats: sizes are 0 for some seconds
}

// kind returns an output without what differs from run to run, and without lines that are of the kind
// of the line before.
func kind(output string) string {
	for _, d := range differing {
		output = d.pattern.ReplaceAllString(output, d.kind)
	}
	lines := strings.SplitAfter(output, "\n")
	return strings.Join(slices.Compact(lines), "")
}
