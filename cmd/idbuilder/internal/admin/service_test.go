// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestRedirects: a command that changes something does not succeed by the answer to a GET, which
// a redirect has made of its request. No command shows its token to the server of a redirect.
func TestRedirects(t *testing.T) {
	const secret = "an-admin-token-for-tests-alone"
	w, err := worker.New(storetest.Memory(t), worker.Options{AdminToken: secret, Logger: slog.New(slog.DiscardHandler)}, worker.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(t.Context()) })
	behind := httptest.NewServer(w)
	t.Cleanup(behind.Close)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, behind.URL+r.URL.String(), http.StatusMovedPermanently)
	}))
	t.Cleanup(front.Close)
	t.Setenv(tokenVariable, secret)
	for _, c := range []struct{ server, command, want string }{
		{behind.URL, "set increment orders base=7", ""},
		{"http://id.example.com", "get orders", "--plain-http"},
		{front.URL, "set increment orders base=8", "answers 301"},
		{front.URL, "delete orders", "answers 301"},
		{front.URL, "get orders", "redirects to " + behind.URL},
		{behind.URL, "delete orders", ""},
	} {
		if err := runConfig(t, c.command, c.server); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.command, err)
		}
	}
}

// TestNoData: an answer without a configuration is an error.
func TestNoData(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := `null`
		if strings.HasSuffix(r.URL.Path, "/list") {
			data = `{"items": [{"key": "orders", "id_type": "increment"}]}`
		}
		fmt.Fprintf(w, `{"code": 0, "data": %s}`, data)
	}))
	t.Cleanup(server.Close)
	if err := runConfig(t, "get orders", server.URL); err == nil || !strings.Contains(err.Error(), "without") {
		t.Error(err)
	}
}

// runConfig runs a command config on a server.
func runConfig(t *testing.T, command, server string) error {
	t.Helper()
	cmd := configCommand(program.New(nil, shell.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
	cmd.SetArgs(append(strings.Fields(command), "--server", server))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return cmd.ExecuteContext(t.Context())
}
