// SPDX-License-Identifier: Apache-2.0

package http2_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/testcert"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
	"github.com/kazahana-db/kazahana/placement/host/http2"
	"go.uber.org/goleak"
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
func listen(t *testing.T, o http2.Options, h func(context.Context, host.Request) host.Reply) *http2.Transport {
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

// TestOtherServers: the answer of a server that is not a transport leaves the outcome unknown.
// The transport does not speak HTTP/1.
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
		"a body that is not a reply": func(w http.ResponseWriter, _ *http.Request) {
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

// TestNamedCertificates: with certificates for names, a process that has the address of another member gets
// no call of it, even on a connection that there is already.
func TestNamedCertificates(t *testing.T) {
	pool, pair := certificate(t) // its only name is 127.0.0.1
	o := http2.Options{
		ServerTLS:         &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
		ClientTLS:         &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool},
		NamedCertificates: true, Logger: slog.New(slog.DiscardHandler),
	}
	served := 0
	to := listen(t, o, func(ctx context.Context, r host.Request) host.Reply { served++; return echo(ctx, r) })
	from := listen(t, o, echo)
	call := func(member string) (host.Reply, error) {
		return from.Call(t.Context(), to.Address(), host.Request{To: placement.Holder{Owner: placement.Owner{Name: member, Incarnation: 1}}})
	}
	if reply, err := call("127.0.0.1"); err != nil || reply.Status != host.Done {
		t.Errorf("%+v, %v", reply, err)
	}
	if reply, err := call("other"); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a member of another name: %+v, %v", reply, err)
	}
	if reply, err := call(""); err != nil || reply.Status != host.Refused {
		t.Errorf("a member without a name: %+v, %v", reply, err)
	}
	if served != 1 {
		t.Errorf("%d requests have arrived", served)
	}
}

// TestCallersShowCertificates: a transport with TLS lets in no callers without a certificate, whatever the configuration
// that it was given.
func TestCallersShowCertificates(t *testing.T) {
	pool, pair := certificate(t)
	client := &tls.Config{RootCAs: pool}
	server := func(auth tls.ClientAuthType) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: auth}
	}
	for _, auth := range []tls.ClientAuthType{tls.NoClientCert, tls.RequestClientCert, tls.RequireAnyClientCert, tls.VerifyClientCertIfGiven} {
		if to, err := http2.Listen("127.0.0.1:0", http2.Options{ServerTLS: server(auth), ClientTLS: client}); err == nil {
			t.Errorf("%v: it listens on %s", auth, to.Address())
			_ = to.Close(t.Context())
		}
	}
	lax := server(tls.NoClientCert)
	lax.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, nil }
	to := listen(t, http2.Options{ServerTLS: lax, ClientTLS: client}, func(ctx context.Context, r host.Request) host.Reply {
		t.Error("the handler was called")
		return echo(ctx, r)
	})
	from, err := http2.NewClient(http2.Options{ClientTLS: client})
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := from.Call(t.Context(), to.Address(), host.Request{}); err == nil {
		t.Errorf("a caller without a certificate: %+v", reply)
	}
	if err := from.Close(t.Context()); err != nil {
		t.Error(err)
	}
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
		"names without certificates":   {NamedCertificates: true},
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
		t.Error("it listens on something that is not an address")
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

// TestDeadPeer: if a peer dies during a call, the outcome is unknown; later calls cannot reach
// it.
func TestDeadPeer(t *testing.T) {
	began, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	to := listen(t, http2.Options{}, func(ctx context.Context, _ host.Request) host.Reply {
		close(began)
		<-ctx.Done()
		<-over // a dead process does not answer
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
