// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// pageWithin is how long the command may take in all, and an answer of it.
const pageWithin = time.Minute

// getPage starts kazahana ui, follows its link, writes what the page says of the database into a
// file, and ends the command: page FILE argument...
func getPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: page file argument...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), pageWithin)
	ts.Defer(cancel)
	cmd := exec.CommandContext(ctx, find(ts, "kazahana"), append([]string{"ui", "--json"}, args[1:]...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "KAZAHANA_DB="+ts.Getenv("KAZAHANA_DB"), "KAZAHANA_CLUSTER_FILE="+ts.Getenv("KAZAHANA_CLUSTER_FILE"))
	log, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() }) // if the script fails before it ends
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		ts.Fatalf("the page is not served: %v\n%s", err, ts.ReadFile(args[0]+".log"))
	}
	var page struct{ Link string }
	ts.Check(json.Unmarshal(line, &page))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), readInfo(ts, page.Link), 0o600))
	ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	ts.Check(cmd.Wait())
	ts.Check(log.Close())
}

// readInfo follows the link as a browser does, and returns the page's answer about the database.
func readInfo(ts *testscript.TestScript, link string) []byte {
	jar, _ := cookiejar.New(nil) // it does not fail
	client := &http.Client{Jar: jar, Timeout: pageWithin}
	entered, err := client.Get(link)
	ts.Check(err)
	ts.Check(entered.Body.Close())
	at, err := url.Parse(link)
	ts.Check(err)
	answer, err := client.Get(at.Scheme + "://" + at.Host + "/api/info")
	ts.Check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	return text
}
