// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/placement/host"
)

// newClient returns the transport of net/http that makes the connections.
func newClient(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: o.DialTimeout}
	return &http.Transport{
		Protocols:           protocols(o.ClientTLS != nil),
		TLSClientConfig:     o.ClientTLS,
		HTTP2:               limits(),
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: o.DialTimeout,
		IdleConnTimeout:     idleTimeout - pingAfter, // before the server's limit
		DisableCompression:  true,
	}
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
	reply, err := t.postFrame(withTrace(ctx, &connected), address, body)
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
