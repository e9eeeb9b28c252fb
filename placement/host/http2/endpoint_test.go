// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement/host"
)

// TestReplyThatIsNotRead: a request ends after a time if its caller does not read the reply.
func TestReplyThatIsNotRead(t *testing.T) {
	transport, err := NewClient(Options{})
	if err != nil {
		t.Fatal(err)
	}
	transport.writeTimeout = time.Millisecond
	large := host.Reply{Status: host.Done, Payload: make([]byte, 32<<20)} // more than the windows of the connection
	served := &endpoint{transport, func(context.Context, host.Request) host.Reply { return large }}
	done := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		served.ServeHTTP(w, r)
	}))
	server.Config.Protocols = protocols(false)
	server.Start()
	defer server.Close()
	body, err := frame(requestHead{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", mediaType)
	answer, err := transport.client.RoundTrip(r)
	switch {
	case err == nil:
		defer answer.Body.Close()
	case !strings.Contains(err.Error(), "stream error"): // the time may be over before the reply's head is written
		t.Fatal(err)
	}
	<-done
	if n := transport.requests.Load(); n != 0 {
		t.Errorf("%d requests are under way", n)
	}
	if n := transport.bytes.Load(); n != 0 {
		t.Errorf("requests that have ended keep %d bytes", n)
	}
}
