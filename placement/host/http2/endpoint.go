// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"context"
	"encoding/binary"
	"encoding/json"
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
	handler   func(context.Context, host.Request) host.Reply
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

// handleReserved handles a request after room for it was reserved.
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
		return head, nil, sizeError(max(r.ContentLength, tooLarge.Limit+1), most)
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
		err = sizeError(int64(len(payload)), most)
	}
	return head, payload, errors.Join(err, control.SetReadDeadline(time.Time{}))
}

// sizeError is the error of a payload that is larger than Options.MaxPayload.
func sizeError(size int64, most int) error {
	return fmt.Errorf("%w: %d bytes; at most %d are possible", host.ErrTooLarge, size, most)
}

// maxHead bounds a head: a chain of calls, or the tree of an error.
const maxHead = 1 << 20

// maxFrame bounds a body without its payload.
const maxFrame = maxHead + binary.MaxVarintLen64

// maxValues bounds the values in a head, a chain's keys for example. In a head of maxHead bytes are
// hundreds of thousands, of which each takes many times its size when it is decoded.
const maxValues = 10_000

// frame returns a body: the length of the head, the head, the payload.
func frame(head any, payload []byte) ([]byte, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if n := countValues(h); n > maxValues {
		return nil, fmt.Errorf("http2: the head has %d values; at most %d are allowed", n, maxValues)
	}
	if len(h) > maxHead {
		return nil, fmt.Errorf("http2: the head has %d bytes; at most %d are allowed", len(h), maxHead)
	}
	body := make([]byte, 0, binary.MaxVarintLen64+len(h)+len(payload))
	body = binary.AppendUvarint(body, uint64(len(h)))
	return append(append(body, h...), payload...), nil
}

// unframe decodes the head of a body and returns the payload, which is a part of it.
func unframe(body []byte, head any) (payload []byte, err error) {
	length, n := binary.Uvarint(body)
	if n <= 0 || length > maxHead || length > uint64(len(body)-n) {
		return nil, errors.New("http2: the body does not begin with the length of a head")
	}
	if countValues(body[n:n+int(length)]) > maxValues {
		return nil, fmt.Errorf("http2: the head has more than %d values", maxValues)
	}
	if err := json.Unmarshal(body[n:n+int(length)], head); err != nil {
		return nil, fmt.Errorf("http2: the head cannot be read: %w", err)
	}
	return body[n+int(length):], nil
}

// countValues returns how many objects, arrays and elements of them a JSON text has at most, without
// decoding it.
func countValues(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++ // the next character is a part of the string
		case !quoted && (c == '{' || c == '[' || c == ','):
			n++
		}
	}
	return n
}
