// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/servers"
)

// server is a process that serves IDs.
type server struct {
	cmd  *exec.Cmd
	log  *os.File
	rest *bufio.Reader
}

// serverKey is the key of a script's server.
type serverKey struct{}

// serve starts a server at free ports, and puts its URL into the variable URL, the
// admin token that it writes to a file, if any, into TOKEN and the file token: serve argument...
// Its log goes to serve.log.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve argument...")
	}
	s := ts.Value(serverKey{}).(*server)
	var err error
	s.log, err = os.Create(ts.MkAbs("serve.log"))
	ts.Check(err)
	s.cmd = exec.Command(find(ts, "idbuilder"), append([]string{"worker", "--json", "--host", "127.0.0.1"}, args...)...)
	s.cmd.Dir, s.cmd.Stderr = ts.MkAbs("."), s.log
	s.cmd.Env = append(settingsOf(ts), "IDBUILDER__SERVER__PORT="+or(ts.Getenv("PORT"), "0"), "IDBUILDER__OBSERVABILITY__METRICS__PORT="+or(ts.Getenv("METRICS_PORT"), "0"))
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() { _ = s.cmd.Process.Kill() }) // if the script fails before it stops the server
	s.rest = bufio.NewReader(out)
	line, err := s.rest.ReadBytes('\n')
	if err != nil {
		_ = s.cmd.Wait()
		log, _ := os.ReadFile(s.log.Name())
		ts.Fatalf("the server ended: %v\n%s", err, log)
	}
	var start struct{ URL, Admin, Metrics, Admin_token_file string }
	ts.Check(json.Unmarshal(line, &start))
	ts.Setenv("URL", start.URL)
	ts.Setenv("ADMIN_URL", start.Admin)
	ts.Setenv("METRICS_URL", start.Metrics)
	ts.Check(os.WriteFile(ts.MkAbs("start.json"), line, 0o600))
	if start.Admin_token_file != "" {
		text := ts.ReadFile(start.Admin_token_file)
		ts.Setenv("TOKEN", strings.TrimSpace(text))
		ts.Check(os.WriteFile(ts.MkAbs("token"), []byte(text), 0o600))
	}
}

// settingsOf returns the environment of the test, and the script's settings.
func settingsOf(ts *testscript.TestScript) []string {
	env := os.Environ()
	for _, name := range strings.Fields(ts.Getenv("SETTINGS")) {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// stop ends the server with SIGTERM, and expects an orderly end: stop. With KILL it kills the
// server, and with TWICE it sends a second SIGTERM while a request is running.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serverKey{}).(*server)
	if neg || len(args) > 1 || s.cmd == nil {
		ts.Fatalf("usage: stop [KILL|TWICE], after serve")
	}
	switch strings.Join(args, "") {
	case "KILL":
		ts.Check(s.cmd.Process.Kill())
		_ = s.cmd.Wait()
	case "TWICE":
		stopTwice(ts, s)
	default:
		ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
		ts.Check(s.cmd.Wait())
	}
	ts.Check(s.log.Close())
}

// stopTwice sends SIGTERM while a request is running, waits until the server accepts no more
// connections, checks that it still waits for the request, and sends the second signal.
func stopTwice(ts *testscript.TestScript, s *server) {
	address := strings.TrimPrefix(ts.Getenv("URL"), "http://")
	conn, err := net.Dial("tcp", address)
	ts.Check(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/config/increment HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", ts.Getenv("TOKEN"))
	ts.Check(err)
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n') // the server reads the body now
	if err != nil || !strings.Contains(line, "100 Continue") {
		ts.Fatalf("the server answers %q, %v", line, err)
	}
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	for refused := false; !refused; {
		another, err := net.Dial("tcp", address)
		if refused = err != nil; !refused {
			ts.Check(another.Close())
		}
	}
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	_ = s.cmd.Wait()
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		ts.Fatalf("the server ended with %v, not by the second signal", s.cmd.ProcessState)
	}
}

// freePort puts the number of a free port into a variable: freeport NAME.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: freeport variable")
	}
	port, err := servers.FreePort()
	ts.Check(err)
	ts.Setenv(args[0], fmt.Sprint(port))
}

// await runs a command until its output matches: await pattern command argument... A script
// that waits in vain is named after some minutes.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await pattern command argument...")
	}
	wanted := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(5 * time.Minute); ; {
		err := ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout"); err == nil && wanted.MatchString(out) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no output that matches %q", args[0])
		}
	}
}

// find returns the path of a command of the script.
func find(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	ts.Fatalf("%s is not in PATH", name)
	return ""
}
