// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// oneConnection is a listener that accepts one connection.
type oneConnection struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l oneConnection) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l oneConnection) Close() error { close(l.closed); return nil }

func (oneConnection) Addr() net.Addr { return &net.TCPAddr{} }

// TestIdleConnections: the server closes a connection on which no further request comes. In the
// bubble, one that it kept for ever would be a deadlock.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPageServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") }))
		here, there := net.Pipe()
		l := oneConnection{make(chan net.Conn, 1), make(chan struct{})}
		l.conn <- there
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(l) }()
		begun := time.Now()
		if _, err := io.WriteString(here, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(here)
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "page" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := r.ReadByte(); err != io.EOF || time.Since(begun) != idleWithin {
			t.Errorf("the connection ended with %v after %v", err, time.Since(begun))
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}
