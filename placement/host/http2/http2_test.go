// SPDX-License-Identifier: Apache-2.0

package http2_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/testcert"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
	"github.com/kazahana-db/kazahana/placement/host/http2"
)

func TestTransport(t *testing.T) {
	hosttest.RunTransport(t, func(t *testing.T) host.Transport {
		transport, err := http2.Listen("127.0.0.1:0", http2.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return transport
	})
}

// listen returns a transport that serves h, and is closed with the test.
func listen(t *testing.T, o http2.Options, h host.Handler) *http2.Transport {
	t.Helper()
	transport, err := http2.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.Serve(h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = transport.Close(ctx)
	})
	return transport
}

func echo(_ context.Context, r host.Request) host.Reply {
	return host.Reply{Status: host.Done, Payload: r.Payload}
}

func TestPayloadsAreBounded(t *testing.T) {
	called := false
	small := listen(t, http2.Options{MaxPayload: 1000}, func(ctx context.Context, r host.Request) host.Reply { called = true; return echo(ctx, r) })
	large := listen(t, http2.Options{MaxPayload: 4 << 20}, echo)
	check := func(from *http2.Transport, to string, size int) {
		t.Helper()
		reply, err := from.Call(t.Context(), to, host.Request{Payload: make([]byte, size)})
		var fault *host.SizeError
		if err != nil || reply.Status != host.Refused || !errors.As(reply.Err.Error(), &fault) || fault.Bytes < 1001 || fault.Most != 1000 {
			t.Errorf("%d bytes: %+v, %v", size, reply, err)
		}
	}
	check(small, large.Address(), 1001)
	check(large, small.Address(), 1001)
	check(large, small.Address(), 3<<20)
	if called {
		t.Error("the handler got a payload that is too large")
	}
	if reply, err := large.Call(t.Context(), small.Address(), host.Request{Payload: make([]byte, 1000)}); err != nil || len(reply.Payload) != 1000 {
		t.Errorf("a payload at the bound: %v, %v", reply.Status, err)
	}
	huge := listen(t, http2.Options{MaxPayload: 4 << 20}, func(context.Context, host.Request) host.Reply {
		return host.Reply{Status: host.Done, Payload: make([]byte, 3<<20)}
	})
	if _, err := small.Call(t.Context(), huge.Address(), host.Request{}); err == nil || errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a result that is too large: %v", err)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	began, let := make(chan struct{}), make(chan struct{})
	to := listen(t, http2.Options{MaxRequests: 1}, func(context.Context, host.Request) host.Reply {
		close(began)
		<-let
		return host.Reply{Status: host.Done}
	})
	from := listen(t, http2.Options{}, echo)
	first := make(chan error, 1)
	go func() {
		_, err := from.Call(t.Context(), to.Address(), host.Request{})
		first <- err
	}()
	<-began
	reply, err := from.Call(t.Context(), to.Address(), host.Request{})
	if err != nil || reply.Status != host.Refused || !errors.Is(reply.Err.Error(), host.ErrOverloaded) {
		t.Errorf("one more than the bound: %+v, %v", reply, err)
	}
	close(let)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// Whatever arrives that is no request reaches no handler.
func TestGarbage(t *testing.T) {
	to := listen(t, http2.Options{}, func(context.Context, host.Request) host.Reply {
		t.Error("the handler was called")
		return host.Reply{}
	})
	client := &http.Transport{Protocols: new(http.Protocols)}
	client.Protocols.SetUnencryptedHTTP2(true)
	defer client.CloseIdleConnections()
	const media = "application/vnd.kazahana.placement.v1"
	for _, test := range []struct {
		method, path, media, body string
		status                    int
	}{
		{"GET", "/placement/v1/call", media, "", http.StatusMethodNotAllowed},
		{"POST", "/", media, "", http.StatusNotFound},
		{"POST", "/placement/v1/call", "text/plain", "", http.StatusUnsupportedMediaType},
		{"POST", "/placement/v1/call", media, "", http.StatusOK}, // refused in the body
		{"POST", "/placement/v1/call", media, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x05{}", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x02[]", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x0e{\"timeout\":-1}", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", http.StatusOK},
	} {
		r, err := http.NewRequest(test.method, "http://"+to.Address()+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", test.media)
		answer, err := client.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != test.status || err != nil || test.status == http.StatusOK && !bytes.Contains(body, []byte(`"status":3`)) {
			t.Errorf("%+v: %d %q, %v", test, answer.StatusCode, body, err)
		}
	}
}

// What answers but is no transport leaves the outcome unknown; HTTP/1 is not spoken.
func TestOtherServers(t *testing.T) {
	from := listen(t, http2.Options{}, echo)
	var handler http.HandlerFunc
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler(w, r) }))
	other.Config.Protocols = new(http.Protocols)
	other.Config.Protocols.SetUnencryptedHTTP2(true)
	other.Start()
	defer other.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"a proxy's error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no upstream", http.StatusBadGateway) },
		"a page":          func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"a body that is no reply": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kazahana.placement.v1")
			_, _ = w.Write([]byte("\x02[]"))
		},
		"a reply that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kazahana.placement.v1")
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("\x02{}"))
			panic(http.ErrAbortHandler)
		},
	} {
		handler = answer
		if reply, err := from.Call(t.Context(), strings.TrimPrefix(other.URL, "http://"), host.Request{}); err == nil || errors.Is(err, host.ErrUnreachable) {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
	if answer, err := http.Post("http://"+from.Address()+"/placement/v1/call", "application/vnd.kazahana.placement.v1", nil); err == nil {
		answer.Body.Close()
		t.Errorf("HTTP/1 gets the status %d", answer.StatusCode)
	}
}

// certificate returns a certificate of the loopback interface, for both sides.
func certificate(t *testing.T) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	dir := t.TempDir()
	if err := testcert.Write(dir); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool, pair
}

func TestTLS(t *testing.T) {
	pool, pair := certificate(t)
	secure := http2.Options{
		ServerTLS: &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
		ClientTLS: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool},
	}
	to, from := listen(t, secure, echo), listen(t, secure, echo)
	if reply, err := from.Call(t.Context(), to.Address(), host.Request{Payload: []byte("x")}); err != nil || string(reply.Payload) != "x" {
		t.Errorf("%+v, %v", reply, err)
	}
	plain := listen(t, http2.Options{Logger: slog.New(slog.DiscardHandler)}, echo)
	if _, err := plain.Call(t.Context(), to.Address(), host.Request{}); err == nil {
		t.Error("a call in the clear is answered")
	}
	if _, err := from.Call(t.Context(), plain.Address(), host.Request{}); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a call to what has no certificate: %v", err)
	}
	stranger, err := http2.NewClient(http2.Options{ClientTLS: &tls.Config{RootCAs: pool}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Call(t.Context(), to.Address(), host.Request{}); err == nil {
		t.Error("a caller without a certificate is answered")
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]http2.Options{
		"a server's certificate alone": {ServerTLS: new(tls.Config)},
		"a client's certificate alone": {ClientTLS: new(tls.Config)},
		"an address without a port":    {Advertise: "host"},
		"port 0":                       {Advertise: "host:0"},
		"a negative bound":             {MaxRequests: -1},
	} {
		if transport, err := http2.Listen("127.0.0.1:0", o); err == nil {
			t.Errorf("%s: it listens on %s", name, transport.Address())
		}
	}
	if transport, err := http2.Listen(":0", http2.Options{}); err == nil {
		t.Errorf("others are told to call %s", transport.Address())
	}
	if _, err := http2.Listen("not an address", http2.Options{}); err == nil {
		t.Error("it listens on what is no address")
	}
	transport, err := http2.Listen(":0", http2.Options{Advertise: "example.com:7400"})
	if err != nil || transport.Address() != "example.com:7400" {
		t.Fatalf("%v", err)
	}
	if err := transport.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := transport.Serve(echo); err == nil {
		t.Error("Serve after Close")
	}
	client, err := http2.NewClient(http2.Options{})
	if err != nil || client.Address() != "" || client.Serve(echo) == nil {
		t.Errorf("a client's transport listens, %v", err)
	}
}

// A peer that dies while it has a call leaves the outcome unknown, and cannot be
// reached after that.
func TestDeadPeer(t *testing.T) {
	began, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	to := listen(t, http2.Options{}, func(ctx context.Context, _ host.Request) host.Reply {
		close(began)
		<-ctx.Done()
		<-over // a process that is gone does not answer
		return host.Reply{}
	})
	from := listen(t, http2.Options{}, echo)
	failed := make(chan error, 1)
	go func() {
		_, err := from.Call(t.Context(), to.Address(), host.Request{})
		failed <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := to.Close(ctx); err == nil {
		t.Error("Close says that all requests were answered")
	}
	if err := <-failed; err == nil || errors.Is(err, host.ErrUnreachable) {
		t.Errorf("the call that it had: %v", err)
	}
	if _, err := from.Call(t.Context(), to.Address(), host.Request{}); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a call after that: %v", err)
	}
}
