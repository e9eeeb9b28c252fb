// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// server is a process that serves leases.
type server struct {
	cmd *exec.Cmd
	log *os.File
}

// serverKey is the key of a script's server.
type serverKey struct{}

// serve starts a lease server at a free port and puts its URL into a variable:
// serve URL argument...
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve variable argument...")
	}
	s := ts.Value(serverKey{}).(*server)
	var err error
	s.log, err = os.Create(ts.MkAbs("serve.log"))
	ts.Check(err)
	s.cmd = exec.Command(find(ts, "kazahana"), append([]string{"lease", "serve", "--listen", "127.0.0.1:0", "--json"}, args[1:]...)...)
	s.cmd.Dir, s.cmd.Stderr = ts.MkAbs("."), s.log
	s.cmd.Env = append(os.Environ(), "KAZAHANA_TOKEN="+ts.Getenv("KAZAHANA_TOKEN"))
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() { _ = s.cmd.Process.Kill() }) // if the script fails before it stops the server
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = s.cmd.Wait()
		log, _ := os.ReadFile(s.log.Name())
		ts.Fatalf("the server ended: %v\n%s", err, log)
	}
	var serving struct{ URL string }
	ts.Check(json.Unmarshal(line, &serving))
	ts.Setenv(args[0], serving.URL)
}

// metrics writes the metrics at the address that the server logged into a file:
// metrics file.
func metrics(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: metrics file [host]")
	}
	address := regexp.MustCompile(`"msg":"metrics","url":"([^"]+)"`).FindStringSubmatch(ts.ReadFile("serve.log"))
	if address == nil {
		ts.Fatalf("the server has not logged where its metrics are")
	}
	req, err := http.NewRequest(http.MethodGet, address[1], nil)
	ts.Check(err)
	if len(args) == 2 {
		req.Host = args[1]
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), page, 0o600))
}

// stop ends the server with SIGTERM, and expects an orderly end. The server's log is
// in serve.log.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serverKey{}).(*server)
	if neg || len(args) > 0 || s.cmd == nil {
		ts.Fatalf("usage: stop, after serve")
	}
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	ts.Check(s.cmd.Wait())
	ts.Check(s.log.Close())
}

// find returns the path of a command of the script.
func find(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, name); executable(path) {
			return path
		}
	}
	ts.Fatalf("%s is not in PATH", name)
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
