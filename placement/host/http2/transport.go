// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/placement/host"
)

// Timeouts of connections. If a peer does not answer a ping, calls to it end with an unknown
// outcome.
const (
	readTimeout  = 10 * time.Second // of a request's body
	writeTimeout = 30 * time.Second // of a reply
	pingAfter    = 15 * time.Second // without anything received
	pingTimeout  = 5 * time.Second
	idleTimeout  = 2 * time.Minute
)

// Transport is a [host.Transport] over HTTP/2.
type Transport struct {
	options Options
	address string
	client  *http.Transport

	mu       sync.Mutex
	listener net.Listener
	server   *http.Server // nil until Serve
	closed   bool
	requests atomic.Int64 // under way here
	bytes    atomic.Int64 // that they keep in memory

	writeTimeout time.Duration
}

var _ host.Transport = (*Transport)(nil)

// Listen listens on a TCP address, such as "10.0.0.7:7400". Nothing is served
// until [Transport.Serve].
func Listen(address string, o Options) (*Transport, error) {
	if o.ClientTLS != nil && o.ServerTLS == nil {
		return nil, errors.Join(errors.New("http2: ClientTLS needs ServerTLS: the others call with TLS, too"), o.Validate())
	}
	t, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	if t.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("http2: %w", err)
	}
	if t.address, err = advertised(t.listener, o.Advertise); err != nil {
		return nil, errors.Join(err, t.listener.Close())
	}
	return t, nil
}

// NewClient returns a transport that only calls: for a [host.Client].
func NewClient(o Options) (*Transport, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return &Transport{options: o, client: newClient(o), writeTimeout: writeTimeout}, nil
}

// advertised returns the address for other processes.
func advertised(l net.Listener, advertise string) (string, error) {
	if advertise != "" {
		return advertise, nil
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		return "", fmt.Errorf("http2: other processes cannot reach %v: set Options.Advertise", a)
	}
	return l.Addr().String(), nil
}

// protocols returns the protocols of the transport: HTTP/2 alone.
func protocols(secure bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP2(secure)
	p.SetUnencryptedHTTP2(!secure)
	return p
}

func limits() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: 1000, SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
}

// reserve counts bytes that a request keeps in memory, and reports whether there is room for them.
func (t *Transport) reserve(n int64) bool {
	if t.bytes.Add(n) <= int64(t.options.MaxBytes) {
		return true
	}
	t.bytes.Add(-n)
	return false
}

// Address implements [host.Transport].
func (t *Transport) Address() string { return t.address }

// Serve implements [host.Transport].
func (t *Transport) Serve(h host.Handler) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.listener == nil:
		return errors.New("http2: the transport was made by NewClient: it only calls")
	case t.closed:
		return http.ErrServerClosed
	case t.server != nil:
		return errors.New("http2: the transport serves already")
	}
	t.server = t.newServer(h)
	go t.serveUntilClosed(t.server, t.listener)
	return nil
}

func (t *Transport) newServer(h host.Handler) *http.Server {
	return &http.Server{
		Handler:           &endpoint{transport: t, handler: h},
		Protocols:         protocols(t.options.ServerTLS != nil),
		TLSConfig:         t.options.ServerTLS,
		HTTP2:             limits(),
		ReadHeaderTimeout: readTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(t.options.Logger.Handler(), slog.LevelWarn),
	}
}

// serveUntilClosed serves until Close.
func (t *Transport) serveUntilClosed(s *http.Server, l net.Listener) {
	var err error
	if s.TLSConfig != nil {
		err = s.ServeTLS(l, "", "")
	} else {
		err = s.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		t.options.Logger.Error("http2: the transport serves no more", "address", t.address, "err", err)
	}
}

// Close implements [host.Transport].
func (t *Transport) Close(ctx context.Context) error {
	server, listener := t.markClosed()
	defer t.client.CloseIdleConnections()
	switch {
	case server != nil:
		if err := server.Shutdown(ctx); err != nil {
			return errors.Join(fmt.Errorf("http2: requests were still under way: %w", err), server.Close())
		}
	case listener != nil:
		_ = listener.Close() // at worst it is closed twice
	}
	return nil
}

func (t *Transport) markClosed() (*http.Server, net.Listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.server, t.listener
}
