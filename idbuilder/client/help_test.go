// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

const adminToken = "an-admin-token-for-tests-alone"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startWorker starts a worker over a store, on loopback.
func startWorker(t testing.TB, s store.Store) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(newWorker(t, s))
	t.Cleanup(server.Close)
	return server
}

// newWorker returns a worker over a store, which is closed at the end of the test.
func newWorker(t testing.TB, s store.Store) *idbuilder.Worker {
	t.Helper()
	w, err := idbuilder.NewWorker(s, idbuilder.Options{
		AdminToken: adminToken, Validity: 100 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(t.Context()) }) // the store may be gone
	return w
}

// newClient returns a client, which is closed at the end of the test.
func newClient(t testing.TB, o client.Options) *client.Client {
	t.Helper()
	if o.Token == "" {
		o.Token = adminToken
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// service starts a worker with configurations, and returns a client of it.
func service(t testing.TB, configs map[string]string) (*client.Client, *httptest.Server) {
	t.Helper()
	server := startWorker(t, storetest.Memory(t))
	c := newClient(t, client.Options{URLs: []string{server.URL}})
	for config, idType := range configs {
		save(t, c, idType, config)
	}
	return c, server
}

func save(t testing.TB, c *client.Client, idType, config string) {
	t.Helper()
	if err := c.Admin().Save(t.Context(), idType, rawJSON(config)); err != nil {
		t.Fatal(err)
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }
