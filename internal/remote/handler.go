// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

const (
	// protocol is what the connection of a request is upgraded to. Another form of calls gets another number.
	protocol = "kazahana-transactions/1"

	// writesHeader tells a client whether commits may write.
	writesHeader = "Kazahana-Writes"

	// engineHeader tells a client which engine the database is of, if the program knows.
	engineHeader = "Kazahana-Engine"

	// maxConnections is how many connections a handler serves at a time.
	maxConnections = 16
)

// Handler serves a database to clients that upgrade a request, as [Attach] does. It lets in every request: the
// caller checks its token. It is safe for concurrent use.
type Handler struct {
	db     kv.Database
	engine string
	writes bool
	ctx    context.Context
	stop   context.CancelFunc

	mu          sync.Mutex
	open        int
	connections sync.WaitGroup
}

// Embedded is what clients are told of the embedded engine.
const Embedded = "embedded"

// NewHandler returns a handler over db, of the engine that clients are told. Without writes, commits that write fail
// with [ErrReadOnly].
func NewHandler(db kv.Database, engine string, writes bool) *Handler {
	h := &Handler{db: db, engine: engine, writes: writes}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Close ends all connections, and waits for what their clients have begun.
func (h *Handler) Close() {
	h.mu.Lock() // no connection is added from now on
	h.stop()
	h.mu.Unlock()
	h.connections.Wait()
}

// ServeHTTP implements [http.Handler]. It returns when the connection has ended.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != protocol {
		w.Header().Set("Upgrade", protocol)
		http.Error(w, fmt.Sprintf("the client speaks %q, the program %s: the command kazahana and the program are of different versions, or a proxy does not pass on the header Upgrade", r.Header.Get("Upgrade"), protocol), http.StatusUpgradeRequired)
		return
	}
	if err := h.enter(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.leave()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the program cannot give away the connection of a request, as over HTTP/2, or if it wraps the ResponseWriter without a method Unwrap: "+err.Error(), http.StatusNotImplemented)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Time{}) // those of the server are for requests
	fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n%s: %t\r\n\r\n", protocol, engineHeader, h.engine, writesHeader, h.writes)
	if buffered.Flush() == nil {
		serveConn(h.ctx, &bufferedConn{conn, buffered.Reader}, h.db, h.writes)
	}
}

func (h *Handler) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ctx.Err() != nil:
		return errors.New("the program is ending")
	case h.open >= maxConnections:
		return fmt.Errorf("%d clients are attached, and no more are let in", maxConnections)
	}
	h.open++
	h.connections.Add(1)
	return nil
}

func (h *Handler) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	h.connections.Done()
}

// bufferedConn is a connection that the server of requests has read ahead.
type bufferedConn struct {
	net.Conn
	ahead *bufio.Reader
}

// Read implements [net.Conn].
func (c *bufferedConn) Read(b []byte) (int, error) { return c.ahead.Read(b) }
