// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// startCommand starts the command as a process of its own.
func startCommand(t *testing.T, args ...string) (cmd *exec.Cmd, out, errs *bufio.Reader) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandVariable+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(stdout), bufio.NewReader(stderr)
}

// lineWith reads until a line has a text.
func lineWith(t *testing.T, r *bufio.Reader, text string) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if strings.Contains(line, text) {
			return line
		}
		if err != nil {
			t.Fatalf("no line has %q: %v", text, err)
		}
	}
}

// TestFirstSignal: SIGINT and SIGTERM end a verb that goes on without end, in order.
func TestFirstSignal(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	db, err := embedded.Open(folder)
	if err == nil {
		err = bazaar.Seed(t.Context(), db)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, out, errs := startCommand(t, "feed", "tail", "events", "--follow", "--since", "beginning", "--json", "--db", folder)
		lineWith(t, out, `"version"`)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(errs)
		if waited := cmd.Wait(); err != nil || waited != nil || len(rest) > 0 {
			t.Errorf("%v: %v, %v, %s", s, err, waited, rest)
		}
	}
}

// TestSecondSignal: the first signal lets a server finish the request that is under way; the
// second one ends it at once.
func TestSecondSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, out, errs := startCommand(t, "lease", "serve", "--listen", "127.0.0.1:0", "--json", "--leases", "memory:")
		var serving struct{ URL string }
		if err := json.Unmarshal([]byte(lineWith(t, out, `"url"`)), &serving); err != nil {
			t.Fatal(err)
		}
		defer openRequest(t, serving.URL).Close()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		lineWith(t, errs, "finishing what is under way")
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		repeat := time.NewTicker(20 * time.Millisecond) // the first signal may still be on its way through the process
		defer repeat.Stop()
		for waiting := true; waiting; {
			select {
			case <-ended:
				waiting = false
			case <-repeat.C:
				_ = cmd.Process.Signal(s) // it may have ended
			}
		}
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != s {
			t.Errorf("%v: %v", s, cmd.ProcessState)
		}
	}
}

// openRequest sends a request without the end of its body, once the server waits for the rest.
func openRequest(t *testing.T, address string) io.Closer {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "POST /v1/acquire HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
	if err == nil {
		_, err = bufio.NewReader(conn).ReadString('\n') // the server asks for the body
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
