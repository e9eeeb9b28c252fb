// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
)

const printer = `{"ref":"mail-1","subject":"The printer is on fire","requester":"ada@example.com"}`

// TestTicket follows one ticket from its creation to its end.
func TestTicket(t *testing.T) {
	acme := openService(t, enginetest.Open(t)).addTenant(t, "acme")
	created := acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	path := created.header.Get("Location")
	if got := acme.send("GET", path, "").want(http.StatusOK); got.body != created.body || got.header.Get("ETag") != created.header.Get("ETag") {
		t.Errorf("the ticket is read as %s, was created as %s", got.body, created.body)
	}
	acme.send("GET", path, "", "If-None-Match: "+created.header.Get("ETag")).want(http.StatusNotModified)
	closing := acme.send("PATCH", path, `{"status":"closed"}`, "If-Match: "+created.header.Get("ETag")).want(http.StatusOK)
	if got := closing.text("status"); got != "closed" {
		t.Errorf("the closed ticket is %s", got)
	}
	acme.send("POST", path+"/comments", `{"author":"ada","text":"It burns again."}`).want(http.StatusCreated)
	if got := acme.send("GET", path, "").text("status"); got != "open" {
		t.Errorf("after a comment the ticket is %s, want open", got)
	}
	if got := acme.send("GET", path+"/comments", "").want(http.StatusOK).body; !strings.Contains(got, "It burns again.") {
		t.Errorf("comments: %s", got)
	}
	if got := acme.send("GET", "/v1/counts", "").want(http.StatusOK).body; got != `{"closed":0,"open":1,"waiting":0}`+"\n" {
		t.Errorf("counts: %s", got)
	}
}

// TestStatuses sends what is wrong, each in its own way.
func TestStatuses(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme := s.addTenant(t, "acme")
	ticket := acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	path, etag := ticket.header.Get("Location"), "If-Match: "+ticket.header.Get("ETag")
	changed := acme.send("PATCH", path, `{"priority":"urgent"}`, etag).want(http.StatusOK)
	for _, c := range []struct {
		status             int
		method, path, body string
		detail             string
		headers            []string
	}{
		{400, "POST", "/v1/tickets", `{"subject":`, "unexpected EOF", nil},
		{400, "POST", "/v1/tickets", `{"subjekt":"x"}`, "subjekt", nil},
		{400, "POST", "/v1/tickets", printer + printer, "something follows", nil},
		{400, "POST", "/v1/tickets", `{"priority":"high"}`, `want one of [\"low\" \"normal\" \"urgent\"]`, nil},
		{400, "GET", "/v1/tickets?limit=0", "", "from 1 to 100", nil},
		{400, "GET", "/v1/tickets?status=done", "", "want one of", nil},
		{400, "GET", "/v1/tickets?page=AAAA", "", "bad page token", nil},
		{400, "GET", "/v1/tickets?page_token=AAAA", "", `unknown parameter \"page_token\": this address knows [\"status\" \"limit\" \"page\"]`, nil},
		{400, "GET", "/v1/tickets?limit=%", "", "query: invalid URL escape", nil},
		{400, "PATCH", path + "?force=1", `{"status":"closed"}`, `unknown parameter \"force\"`, []string{"If-Match: *"}},
		{400, "GET", "/v1/search?status=open", "", "needs words", nil},
		{400, "GET", "/v1/search?q=" + strings.Repeat("ab+", 30) + "a+b+c+d+e+f+g+h", "", "9 words, want at most 8", nil},
		{404, "GET", "/v1/tickets/1", "", "not found", nil},
		{404, "GET", "/v1/tickets/printer", "", "not found", nil},
		{404, "PATCH", "/v1/tickets/1", `{"status":"closed"}`, "not found", []string{etag}},
		{404, "PATCH", "/v1/tickets/1", `{"status":"closed"}`, "not found", []string{"If-Match: *"}},
		{404, "POST", "/v1/tickets/1/comments", `{"author":"ada","text":"Hello?"}`, "not found", nil},
		{404, "GET", "/v1/tickets/1/comments", "", "not found", nil},
		{409, "POST", "/v1/tickets", printer, "mail-1", nil},
		{412, "PATCH", path, `{"status":"waiting"}`, "changed since it was read", []string{etag}},
		{412, "PATCH", path, `{"status":"waiting"}`, "not the ETag", []string{`If-Match: "1"`}},
		{413, "POST", "/v1/tickets", `{"body":"` + strings.Repeat("x", 65<<10) + `"}`, "65536 bytes", nil},
		{422, "POST", "/v1/tickets", `{"requester":"ada"}`, "subject: 0 bytes", nil},
		{422, "PATCH", path, `{"subject":""}`, "subject: 0 bytes", []string{"If-Match: " + changed.header.Get("ETag")}},
		{428, "PATCH", path, `{"status":"closed"}`, "If-Match", nil},
	} {
		got := acme.send(c.method, c.path, c.body, c.headers...)
		if got.status != c.status || !strings.Contains(got.body, c.detail) || got.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s, want %d and %q", got.request, got.status, got.body, c.status, c.detail)
		}
	}
	if got := acme.send("POST", "/v1/tickets", printer).want(409).header.Get("Location"); got != path {
		t.Errorf("the 409 leads to %q, want %q", got, path)
	}
	if got := acme.send("GET", path, "").body; got != changed.body {
		t.Errorf("refused requests changed the ticket to %s", got)
	}
}

// A client that did not get the answer to a change may send it again.
func TestChangeTwice(t *testing.T) {
	acme := openService(t, enginetest.Open(t)).addTenant(t, "acme")
	ticket := acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	path, etag := ticket.header.Get("Location"), "If-Match: "+ticket.header.Get("ETag")
	first := acme.send("PATCH", path, `{"status":"closed"}`, etag).want(http.StatusOK)
	if again := acme.send("PATCH", path, `{"status":"closed"}`, etag).want(http.StatusOK); again.body != first.body {
		t.Errorf("the second answer is %s, the first was %s", again.body, first.body)
	}
}

// A change with If-Match: * needs no version, and changes only what it names.
func TestChangeAnyVersion(t *testing.T) {
	acme := openService(t, enginetest.Open(t)).addTenant(t, "acme")
	path := acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated).header.Get("Location")
	for _, patch := range []string{`{"status":"waiting"}`, `{"priority":"urgent"}`, `{"priority":"urgent"}`} {
		acme.send("PATCH", path, patch, "If-Match: *").want(http.StatusOK)
	}
	got := acme.send("GET", path, "").want(http.StatusOK)
	if got.text("status") != "waiting" || got.text("priority") != "urgent" || got.text("subject") != "The printer is on fire" {
		t.Errorf("after changes of any version the ticket is %s", got.body)
	}
}

// TestLists reads lists page by page, the queue, and searches.
func TestLists(t *testing.T) {
	acme := openService(t, enginetest.Open(t)).addTenant(t, "acme")
	for _, body := range []string{
		`{"subject":"Printer out of paper","requester":"ada@example.com","priority":"low"}`,
		`{"subject":"Printer on fire","requester":"bob@example.com","priority":"urgent"}`,
		`{"subject":"No coffee","requester":"ada@example.com"}`,
	} {
		acme.send("POST", "/v1/tickets", body).want(http.StatusCreated)
	}
	first, next := acme.send("GET", "/v1/tickets?limit=2", "").subjects()
	second, end := acme.send("GET", "/v1/tickets?limit=2&page="+next, "").subjects()
	checkSubjects(t, "the list", append(first, second...), "No coffee", "Printer on fire", "Printer out of paper")
	if end != "" {
		t.Errorf("the last page has a token: %q", end)
	}
	for path, want := range map[string][]string{
		"/v1/queue":                  {"Printer on fire", "No coffee", "Printer out of paper"},
		"/v1/search?q=printer":       {"Printer on fire", "Printer out of paper"},
		"/v1/search?q=PAPER+printer": {"Printer out of paper"},
		"/v1/search?q=printer&requester=bob@example.com":    {"Printer on fire"},
		"/v1/search?requester=ada@example.com&status=open":  {"No coffee", "Printer out of paper"},
		"/v1/search?q=printer+on+fire+on+on+on+on+on+on+on": {"Printer on fire"}, // three words
		"/v1/search?q=tea": nil,
	} {
		got, _ := acme.send("GET", path, "").subjects()
		checkSubjects(t, path, got, want...)
	}
	acme.send("GET", "/v1/queue?page="+next, "").want(http.StatusBadRequest) // a token of another list
}

func checkSubjects(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestNotices lets a tenant's program tell requesters of each status, once.
func TestNotices(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme := s.addTenant(t, "acme")
	ticket := acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	deliveries := "/v1/notices/" + ticket.text("id") + "/deliveries"
	s.catchUp(t)
	checkNotices(t, acme, "open")
	acme.send("POST", deliveries, `{"status":"open"}`).want(http.StatusNoContent)
	checkNotices(t, acme)
	// Only a change of the status makes a notice, even if it comes before the delivery.
	urgent := acme.send("PATCH", ticket.header.Get("Location"), `{"priority":"urgent"}`, "If-Match: "+ticket.header.Get("ETag")).want(http.StatusOK)
	s.catchUp(t)
	checkNotices(t, acme)
	acme.send("PATCH", ticket.header.Get("Location"), `{"status":"closed"}`, "If-Match: "+urgent.header.Get("ETag")).want(http.StatusOK)
	s.catchUp(t)
	acme.send("POST", deliveries, `{"status":"open"}`).want(http.StatusPreconditionFailed)
	checkNotices(t, acme, "closed")
}

func checkNotices(t *testing.T, c *caller, statuses ...string) {
	t.Helper()
	got := c.send("GET", "/v1/notices", "").want(http.StatusOK).body
	if strings.Count(got, `"status"`) != len(statuses) {
		t.Errorf("notices: %s, want %q", got, statuses)
	}
	for _, status := range statuses {
		if !strings.Contains(got, `"status":"`+status+`"`) {
			t.Errorf("notices: %s, want %q", got, statuses)
		}
	}
}
