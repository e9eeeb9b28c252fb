// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"net"
	"sync"
	"testing"
)

// Proxy is a network between a client and a server, which fails when a test
// wants it to.
type Proxy struct {
	// Addr is where the proxy listens.
	Addr string

	listener net.Listener
	cut      func(Chunk) bool
	group    sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool
	closed   bool
}

// Chunk is what the proxy has read from one side of a connection.
type Chunk struct {
	Connection int  // counts from 1
	Answer     bool // from the server to the client
	Data       []byte
}

// NewProxy starts a proxy before the server at addr. It calls cut with each chunk,
// from a goroutine for each direction of a connection: true closes both ends, and
// what was read is lost. A call that waits holds the direction back.
func NewProxy(tb testing.TB, addr string, cut func(Chunk) bool) *Proxy {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: listener.Addr().String(), listener: listener, cut: cut, open: map[net.Conn]bool{}}
	p.group.Go(func() { p.serve(addr) })
	tb.Cleanup(p.close)
	return p
}

func (p *Proxy) serve(addr string) {
	for n := 1; ; n++ {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", addr)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.add(client, server) {
			return
		}
		p.group.Go(func() { p.copy(server, client, Chunk{Connection: n}) })
		p.group.Go(func() { p.copy(client, server, Chunk{Connection: n, Answer: true}) })
	}
}

// copy forwards one direction until an end closes.
func (p *Proxy) copy(to, from net.Conn, c Chunk) {
	defer p.remove(to, from)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if c.Data = buffer[:n]; p.cut(c) {
			return
		}
		if _, err := to.Write(c.Data); err != nil {
			return
		}
	}
}

// add remembers connections, unless the proxy is closed.
func (p *Proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.closed {
			_ = conn.Close()
			continue
		}
		p.open[conn] = true
	}
	return !p.closed
}

func (p *Proxy) remove(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.open, conn)
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.open {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}
