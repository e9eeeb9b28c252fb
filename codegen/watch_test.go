// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/codegen"
)

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
