// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func ticketOf(subject string) records.Ticket {
	return records.Ticket{Subject: subject, Requester: "ada@example.com"}
}

func isBadKey(err error) bool { return errors.Is(err, desk.ErrBadKey) }

// program is one that runs until the test ends it.
type program struct {
	addresses []string
	log       *programLog
	stop      context.CancelFunc
	done      chan error
}

// startProgram runs the whole program, and waits until it serves.
func startProgram(t *testing.T, c config) *program {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &program{log: &programLog{addresses: make(chan string, 2)}, stop: stop, done: make(chan error, 1)}
	go func() { p.done <- run(ctx, c, slog.New(p.log)) }()
	for range 2 {
		select {
		case address := <-p.log.addresses:
			p.addresses = append(p.addresses, "http://"+address)
		case err := <-p.done:
			t.Fatalf("the program ended: %v", err)
		}
	}
	return p
}

// end ends the program as SIGTERM does.
func (p *program) end(t *testing.T) {
	t.Helper()
	p.stop()
	if err := <-p.done; err != nil {
		t.Errorf("the program ended with %v", err)
	}
	if last := p.log.messages[len(p.log.messages)-1]; last != "stopped" {
		t.Errorf("the last message of the log is %q", last)
	}
}

// programLog keeps the messages, and sends the addresses at which the program serves.
type programLog struct {
	addresses chan string
	mu        sync.Mutex
	messages  []string // to be read when the program has ended
}

func (*programLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *programLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *programLog) WithGroup(string) slog.Handler          { return l }
func (l *programLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	l.messages = append(l.messages, r.Message)
	l.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "address" {
			l.addresses <- a.Value.String()
		}
		return true
	})
	return nil
}

// split returns which address is the tenants', and which the operators'.
func (p *program) split(t *testing.T) (api, admin string) {
	t.Helper()
	for i, address := range p.addresses {
		if (&caller{t, address, ""}).send("GET", "/healthz", "").status == http.StatusOK {
			return p.addresses[1-i], address
		}
	}
	t.Fatal("no address answers /healthz")
	return "", ""
}

// TestRestart runs the program twice on a folder, and a third time on a backup that the first
// one has made while it served. The first program's goroutines have ended when it ends.
func TestRestart(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultClient.CloseIdleConnections()
	c := config{data: filepath.Join(t.TempDir(), "data"), backups: t.TempDir(), listen: "localhost:0", admin: "localhost:0", adminToken: adminToken}
	p := startProgram(t, c)
	api, admin := p.split(t)
	operator := &caller{t, admin, adminToken}
	key := operator.send("POST", "/tenants", `{"name":"acme"}`).want(http.StatusCreated).text("key")
	acme := &caller{t, api, key}
	acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	backup := operator.send("POST", "/backups", "").want(http.StatusCreated).text("folder")
	acme.send("POST", "/v1/tickets", `{"subject":"Later","requester":"ada@example.com"}`).want(http.StatusCreated)
	p.end(t)
	if !p.madeDatabase() {
		t.Errorf("the log of the first start does not tell of the new database: %q", p.log.messages)
	}

	checkTickets(t, c, key, "Later", "The printer is on fire")
	c.data = filepath.Join(t.TempDir(), "restored")
	if _, err := embedded.Restore(t.Context(), backup, c.data, embedded.Options{}); err != nil {
		t.Fatal(err)
	}
	checkTickets(t, c, key, "The printer is on fire")
}

func checkTickets(t *testing.T, c config, key string, want ...string) {
	t.Helper()
	p := startProgram(t, c)
	api, _ := p.split(t)
	got, _ := (&caller{t, api, key}).send("GET", "/v1/tickets", "").subjects()
	checkSubjects(t, "after a restart", got, want...)
	p.end(t)
	if p.madeDatabase() {
		t.Error("a restart says that it made a new database")
	}
}

// madeDatabase reports whether the log of a program that has ended says so.
func (p *program) madeDatabase() bool {
	return slices.ContainsFunc(p.log.messages, func(m string) bool { return strings.HasPrefix(m, "made a new database") })
}

// TestStudio looks into the database of the running program as an operator does, and follows changes until it ends,
// which the page does not hold up.
func TestStudio(t *testing.T) {
	p := startProgram(t, config{data: filepath.Join(t.TempDir(), "data"), backups: t.TempDir(), listen: "localhost:0", admin: "localhost:0", adminToken: adminToken})
	api, admin := p.split(t)
	key := (&caller{t, admin, adminToken}).send("POST", "/tenants", `{"name":"acme"}`).want(http.StatusCreated).text("key")
	(&caller{t, api, key}).send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	(&caller{t, admin, adminToken}).send("GET", "/studio/api/types", "").want(http.StatusUnauthorized)

	jar, _ := cookiejar.New(nil) // it does not fail
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	look := func(path string) *http.Response {
		answer, err := browser.Get(admin + "/studio/" + path)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", path, answer, err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	look("?token=" + adminToken)
	var found struct {
		Stores []struct {
			Path []string
			Type string
		}
	}
	if err := json.NewDecoder(look("api/types").Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	for _, s := range found.Stores {
		if s.Type == "Ticket" {
			changes := look("api/changes?" + url.Values{"p": s.Path, "type": {"Ticket"}}.Encode())
			p.end(t)
			if _, err := io.Copy(io.Discard, changes.Body); err != nil {
				t.Errorf("the stream of changes ends with %v", err)
			}
			return
		}
	}
	t.Errorf("the page shows no store of tickets: %v", found)
}

// TestConfig checks what the program says to a wrong configuration.
func TestConfig(t *testing.T) {
	if _, err := parseConfig(nil, func(string) string { return "short" }); err == nil || !strings.Contains(err.Error(), "HELPDESK_ADMIN_TOKEN") {
		t.Errorf("a short token: %v", err)
	}
	env := map[string]string{"HELPDESK_ADMIN_TOKEN": adminToken, "HELPDESK_DATA": "/srv/helpdesk"}
	c, err := parseConfig([]string{"-listen", ":80"}, func(name string) string { return env[name] })
	if err != nil || c.data != "/srv/helpdesk" || c.listen != ":80" || c.admin != "localhost:8081" {
		t.Errorf("configuration: %+v (%v)", c, err)
	}
	p := startProgram(t, config{data: t.TempDir(), listen: "localhost:0", admin: "localhost:0", adminToken: adminToken})
	defer p.end(t)
	taken := strings.TrimPrefix(p.addresses[0], "http://")
	if err := run(t.Context(), config{data: t.TempDir(), listen: taken, admin: "localhost:0", adminToken: adminToken}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("two programs at one address")
	}
	if err := run(t.Context(), config{data: t.TempDir(), listen: "localhost:0", admin: "localhost:0"}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "Token: it has 0 characters") {
		t.Errorf("a program without a token for operators: %v", err)
	}
}
