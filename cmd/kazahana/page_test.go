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
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// pageWithin is how long an answer of the page may take.
const pageWithin = time.Minute

// getPage starts kazahana ui, follows its link, writes what the page says of the database into a
// file, and ends the command: page FILE argument...
func getPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: page file argument...")
	}
	link, end := startPage(ts, args[0]+".log", args[1:])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), readInfo(ts, link), 0o600))
	end()
}

// attach starts kazahana ui, and has the further commands use the database through it: attach argument... The page ends
// with "attach end".
func attach(ts *testscript.TestScript, neg bool, args []string) {
	page := ts.Value(scriptPageKey{}).(*scriptPage)
	if neg {
		ts.Fatalf("usage: attach argument...")
	}
	if len(args) == 1 && args[0] == "end" {
		page.end()
		return
	}
	link, end := startPage(ts, "attach.log", args)
	page.end = end
	base, token, _ := strings.Cut(link, "?token=")
	ts.Setenv("KAZAHANA_ATTACH", base)
	ts.Setenv("KAZAHANA_ATTACH_TOKEN", token)
	ts.Setenv("KAZAHANA_DB", "")
	ts.Setenv("KAZAHANA_CLUSTER_FILE", "")
}

// scriptPageKey is the key of a script's page.
type scriptPageKey struct{}

// scriptPage is the page through which a script uses its database.
type scriptPage struct{ end func() }

// startPage starts kazahana ui, and returns its link and what ends it.
func startPage(ts *testscript.TestScript, logFile string, args []string) (link string, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ts.Defer(cancel)
	cmd := exec.CommandContext(ctx, find(ts, "kazahana"), append([]string{"ui", "--json"}, args...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "KAZAHANA_DB="+ts.Getenv("KAZAHANA_DB"), "KAZAHANA_CLUSTER_FILE="+ts.Getenv("KAZAHANA_CLUSTER_FILE"),
		"KAZAHANA_ATTACH="+ts.Getenv("KAZAHANA_ATTACH"), "KAZAHANA_ATTACH_TOKEN="+ts.Getenv("KAZAHANA_ATTACH_TOKEN"))
	log, err := os.Create(ts.MkAbs(logFile))
	ts.Check(err)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() }) // if the script fails before it ends
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
		ts.Fatalf("the page is not served: %v\n%s", err, ts.ReadFile(logFile))
	}
	var page struct{ Link string }
	ts.Check(json.Unmarshal(line, &page))
	return page.Link, func() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
		ts.Check(cmd.Wait())
		ts.Check(log.Close())
	}
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
