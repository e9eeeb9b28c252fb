// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/placement/host"
)

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
		return host.Refuse(&host.SizeError{Bytes: len(r.Payload), Most: most}), nil
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
			return host.Refuse(fmt.Errorf("%w: http2: the request does not name the member whose certificate to expect", host.ErrUnreachable)), nil
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
