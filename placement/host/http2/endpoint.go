// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/placement/host"
)

const (
	path      = "/placement/v1/call"
	mediaType = "application/vnd.kazahana.placement.v1"
)

// endpoint serves requests.
type endpoint struct {
	transport *Transport
	handler   host.Handler
}

// ServeHTTP implements [http.Handler].
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != path:
		http.Error(w, "the only path is "+path, http.StatusNotFound)
	case r.Method != http.MethodPost:
		http.Error(w, "only POST is allowed", http.StatusMethodNotAllowed)
	case r.Header.Get("Content-Type") != mediaType:
		http.Error(w, "the media type must be "+mediaType, http.StatusUnsupportedMediaType)
	case r.TLS != nil && len(r.TLS.PeerCertificates) == 0:
		http.Error(w, "the caller must show a certificate", http.StatusForbidden)
	default:
		e.answerRequest(w, r)
	}
}

// answerRequest reads a request, calls the handler and writes the reply. A request counts until its
// reply is written, or for writeTimeout if the caller does not read it; its bytes count until the handler has returned.
func (e *endpoint) answerRequest(w http.ResponseWriter, r *http.Request) {
	t := e.transport
	under := t.requests.Add(1)
	defer t.requests.Add(-1)
	reply := host.Refuse(host.ErrOverloaded)
	if size := e.sizeOf(r); under <= int64(t.options.MaxRequests) && t.reserve(size) {
		reply = e.handleReserved(w, r, size)
	}
	body, err := frame(reply, reply.Payload)
	if err != nil { // a handler's reply can always be encoded
		panic(http.ErrAbortHandler)
	}
	t.bytes.Add(int64(len(body)))
	defer t.bytes.Add(-int64(len(body)))
	w.Header().Set("Content-Type", mediaType)
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(t.writeTimeout)); err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // it fails if the caller has left
}

// sizeOf returns how many bytes the body of a request may have that is read.
func (e *endpoint) sizeOf(r *http.Request) int64 {
	if most := e.transport.options.maxBody(); r.ContentLength < 0 || r.ContentLength > most {
		return most
	}
	return r.ContentLength
}

// handleReserved handles a request whose size was reserved.
func (e *endpoint) handleReserved(w http.ResponseWriter, r *http.Request, size int64) host.Reply {
	defer e.transport.bytes.Add(-size)
	return e.handleRequest(w, r)
}

func (e *endpoint) handleRequest(w http.ResponseWriter, r *http.Request) host.Reply {
	head, payload, err := e.readRequest(w, r)
	if err != nil {
		return host.Refuse(err)
	}
	ctx := r.Context()
	if head.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, head.Timeout)
		defer cancel()
	}
	head.Payload = payload
	return e.handler(ctx, head.Request)
}

// requestHead is the head of a request.
type requestHead struct {
	host.Request
	Timeout time.Duration `json:"timeout,omitempty"` // 0: the caller has no deadline
}

func (e *endpoint) readRequest(w http.ResponseWriter, r *http.Request) (head requestHead, payload []byte, err error) {
	most := e.transport.options.MaxPayload
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
		return head, nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.transport.options.maxBody()))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return head, nil, &host.SizeError{Bytes: int(max(r.ContentLength, tooLarge.Limit+1)), Most: most}
	}
	if err != nil {
		return head, nil, err
	}
	payload, err = unframe(body, &head)
	switch {
	case err != nil:
	case head.Timeout < 0:
		err = fmt.Errorf("http2: the request's timeout is %v; it must not be negative", head.Timeout)
	case len(payload) > most:
		err = &host.SizeError{Bytes: len(payload), Most: most}
	}
	return head, payload, errors.Join(err, control.SetReadDeadline(time.Time{}))
}
