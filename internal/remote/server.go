// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/rpc"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// service is the name under which calls are served.
const service = "KV"

// Serve serves db to every client that connects, until ctx ends; then it closes the listener
// and all connections and returns nil. Else it returns the listener's error.
func Serve(ctx context.Context, l net.Listener, db kv.Database) error {
	var connections sync.WaitGroup
	defer connections.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		connections.Go(func() { serveConn(ctx, conn, db) })
	}
}

func serveConn(ctx context.Context, conn net.Conn, db kv.Database) {
	ctx, stop := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	s := &Session{db: db, ctx: ctx, transactions: map[uint64]*transaction{}}
	server := rpc.NewServer()
	if err := server.RegisterName(service, s); err != nil {
		panic(err)
	}
	server.ServeConn(&observedConn{conn, s.close}) // which waits for all calls
	stop()
	s.close()
}

// observedConn calls ended when the connection is.
type observedConn struct {
	net.Conn
	ended func()
}

// Read implements [net.Conn].
func (c *observedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.ended()
	}
	return n, err
}

// Session is what a connection has begun. Its exported method is called by net/rpc.
type Session struct {
	db  kv.Database
	ctx context.Context

	mu           sync.Mutex
	closed       bool
	transactions map[uint64]*transaction
}

// transaction is one of a client's.
type transaction struct {
	tx      kv.Transaction
	mu      sync.Mutex
	turn    sync.Cond
	closed  bool                           // the connection has ended
	next    uint64                         // the number of the call that comes next
	watches map[uint64]kv.Future[struct{}] // by the number of the call
}

// Do serves a call.
func (s *Session) Do(req Request, resp *Response) error {
	t, err := s.transaction(req.Tx)
	if err != nil {
		resp.Failure = failureOf(err)
		return nil
	}
	answer, err := t.begin(s, req)()
	*resp = answer
	resp.Failure = failureOf(err)
	return nil
}

// transaction returns the transaction with the id, a new one if there is none.
func (s *Session) transaction(id uint64) (*transaction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.transactions[id]; t != nil {
		return t, nil
	}
	if s.closed {
		return nil, kv.ErrClosed
	}
	tx, err := s.db.Begin()
	if err != nil {
		return nil, err
	}
	t := &transaction{tx: tx, watches: map[uint64]kv.Future[struct{}]{}}
	t.turn.L = &t.mu
	s.transactions[id] = t
	return t, nil
}

// begin starts the call when it is its turn, and returns what waits for its answer.
func (t *transaction) begin(s *Session, req Request) (wait func() (Response, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next != req.Number && !t.closed {
		t.turn.Wait()
	}
	if t.closed {
		return func() (Response, error) { return Response{}, kv.ErrClosed }
	}
	defer t.turn.Broadcast()
	t.next++
	return t.start(s, req)
}

// close ends all transactions and watches, and the calls that wait for their turn.
func (s *Session) close() {
	s.mu.Lock()
	s.closed = true
	open := slices.Collect(maps.Values(s.transactions))
	s.mu.Unlock()
	for _, t := range open {
		t.close()
	}
}

func (t *transaction) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.turn.Broadcast()
	t.tx.Cancel()
	for _, w := range t.watches {
		w.Cancel()
	}
}

// forget lets go of a transaction, of which no further call comes.
func (s *Session) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.transactions, id)
}

var errVerb = errors.New("the call is unknown: client and server are of different versions")
