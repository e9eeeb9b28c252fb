// SPDX-License-Identifier: Apache-2.0

// Package http2 carries the calls of a cluster of [host.Host] over HTTP/2, with
// nothing but the standard library.
//
//	transport, err := http2.Listen("10.0.0.7:7400", http2.Options{})
//	h, err := host.New(db, host.Options{Name: "bank-1", Transport: transport})
//
// Without certificates it speaks HTTP/2 in the clear, with prior knowledge: for a
// network that no other process can reach, since a process that reaches the
// transport can call every method. With [Options.ServerTLS] and [Options.ClientTLS]
// it speaks TLS, and the server must verify the certificates of callers
// (tls.RequireAndVerifyClientCert).
//
// # Protocol
//
// A request is a POST to /placement/v1/call; its answer has the status 200. The
// bodies have the media type application/vnd.kazahana.placement.v1: the length of a
// head as an unsigned varint, the head in JSON, and the payload in the codec of the
// hosts up to the end. The head of a request has, besides the fields of
// [host.Request], the time that is left until the caller's deadline in nanoseconds:
// no clocks are compared. A caller that leaves resets the stream, which ends the
// handler's context.
//
// A request was certainly not sent only if no connection could be made. After an
// answer that is not of this package, such as a proxy's, the outcome is unknown.
package http2

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
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
		return nil, errors.Join(errors.New("http2: ClientTLS needs ServerTLS: the others also call with TLS"), o.Validate())
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
func (t *Transport) Serve(h func(context.Context, host.Request) host.Reply) error {
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

func (t *Transport) newServer(h func(context.Context, host.Request) host.Reply) *http.Server {
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

// newClient returns the transport of net/http that makes the connections.
func newClient(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: o.DialTimeout}
	t := &http.Transport{
		Protocols:           protocols(o.ClientTLS != nil),
		TLSClientConfig:     o.ClientTLS,
		HTTP2:               limits(),
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: o.DialTimeout,
		IdleConnTimeout:     idleTimeout - pingAfter, // before the server's limit
		DisableCompression:  true,
	}
	if o.NamedCertificates {
		t.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) { return dialMember(ctx, o, network) }
	}
	return t
}

// target is the process that a request is for.
type target struct{ name, address string }

// targetKey is the key of a context that has a target.
type targetKey struct{}

// authority returns what stands for the target in URLs, so that connections are shared by requests for
// the same name at the same address alone.
func (t target) authority() string {
	sum := sha256.Sum256([]byte(t.name + "\x00" + t.address))
	return hex.EncodeToString(sum[:16])
}

// dialMember connects to the target in ctx, and verifies that the certificate is for its name.
func dialMember(ctx context.Context, o Options, network string) (net.Conn, error) {
	to, _ := ctx.Value(targetKey{}).(target)
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	config := o.ClientTLS.Clone()
	config.ServerName = to.name
	if !slices.Contains(config.NextProtos, "h2") {
		config.NextProtos = append([]string{"h2"}, config.NextProtos...)
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, to.address)
}

// Call implements [host.Transport].
func (t *Transport) Call(ctx context.Context, address string, r host.Request) (host.Reply, error) {
	if most := t.options.MaxPayload; len(r.Payload) > most {
		return host.Refuse(sizeError(int64(len(r.Payload)), most)), nil
	}
	head := requestHead{Request: r}
	if deadline, ok := ctx.Deadline(); ok {
		head.Timeout = max(time.Until(deadline), 1)
	}
	body, err := frame(head, r.Payload)
	if err != nil {
		return host.Refuse(err), nil
	}
	var connected atomic.Bool
	traced, authority := withTrace(ctx, &connected), address
	if t.options.NamedCertificates {
		to := target{r.To.Owner.Name, address}
		if to.name == "" {
			return host.Refuse(fmt.Errorf("%w: http2: the request does not name the member that must show its certificate", host.ErrUnreachable)), nil
		}
		traced, authority = context.WithValue(traced, targetKey{}, to), to.authority()
	}
	reply, err := t.postFrame(traced, authority, body)
	switch {
	case err == nil:
		return reply, nil
	case connected.Load():
		return host.Reply{}, fmt.Errorf("http2: %s: %w", address, withContext(ctx, err))
	}
	return host.Reply{}, fmt.Errorf("%w: http2: %s: %w", host.ErrUnreachable, address, withContext(ctx, err))
}

// withTrace makes a request set connected once it has a connection, on which it may have been
// sent. net/http repeats a POST on another connection only if the peer
// certainly has not handled it: the connection could take no stream any more, or the peer has refused
// the stream or has gone away before it.
func withTrace(ctx context.Context, connected *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
}

// withContext adds the end of ctx to an error that it has caused.
func withContext(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w (%v)", ended, err)
	}
	return err
}

// postFrame sends a body and reads the reply.
func (t *Transport) postFrame(ctx context.Context, address string, body []byte) (reply host.Reply, err error) {
	scheme := "http"
	if t.options.ClientTLS != nil {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+address+path, bytes.NewReader(body))
	if err != nil {
		return reply, err
	}
	req.Header.Set("Content-Type", mediaType)
	answer, err := t.client.RoundTrip(req)
	if err != nil {
		return reply, err
	}
	defer answer.Body.Close()
	return t.readReply(answer)
}

func (t *Transport) readReply(answer *http.Response) (reply host.Reply, err error) {
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != mediaType {
		return reply, fmt.Errorf("the answer has status %d and media type %q; is that a transport of this package?", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	most := t.options.maxBody()
	body, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err != nil {
		return reply, err
	}
	if int64(len(body)) > most {
		return reply, fmt.Errorf("the answer has more than %d bytes", most)
	}
	reply.Payload, err = unframe(body, &reply)
	return reply, err
}
