// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"context"
	"encoding/gob"
	"io"
	"net"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// What a connection may use of the process that serves it.
const (
	maxTransactions = 10_000
	maxCalls        = 4096                       // that wait for an answer; further ones are not read then
	maxLasting      = kv.MaxWatches              // watches that wait, and as many versionstamps
	maxWritten      = 4 * kv.MaxTransactionSize  // bytes, in the transactions that have not ended
	maxRequest      = kv.MaxTransactionSize / 10 // bytes on the wire: the largest value, its key and what is around them fit in
	writeWithin     = 30 * time.Second           // how long a client may take to read an answer
)

// session is what a connection has begun.
type session struct {
	db     kv.Database
	writes bool // commits may change the database
	conn   net.Conn
	ctx    context.Context

	calls        chan struct{} // has an element for each call that waits for its answer, but for those that outlast the commit
	watches      chan struct{} // has one for each watch that waits
	stamps       chan struct{} // and for each versionstamp
	waits        sync.WaitGroup
	transactions map[uint64]*transaction // only the reader of the connection uses it

	out chan struct{} // has an element while an answer is written
	to  *gob.Encoder

	mu      sync.Mutex
	written int // bytes
}

// serveConn serves db to one client until the connection or ctx ends. Then it closes the connection, and waits for what
// the client has begun: commits that are under way go on.
func serveConn(ctx context.Context, conn net.Conn, db kv.Database, writes bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	s := &session{
		db: db, writes: writes, conn: conn, ctx: ctx, calls: make(chan struct{}, maxCalls), watches: make(chan struct{}, maxLasting), stamps: make(chan struct{}, maxLasting),
		transactions: map[uint64]*transaction{}, out: make(chan struct{}, 1), to: gob.NewEncoder(conn),
	}
	s.read()
	stop()
	for _, t := range s.transactions {
		t.close()
	}
	s.waits.Wait()
}

// read starts the calls in their order until the connection ends.
func (s *session) read() {
	bounded := &io.LimitedReader{R: bufio.NewReader(s.conn)}
	from := gob.NewDecoder(readerOnly{bounded})
	for {
		bounded.N = maxRequest
		var req Request
		if from.Decode(&req) != nil {
			return
		}
		if !req.Verb.answered() {
			_, _ = s.start(req)() // it has no result
			continue
		}
		count, start := s.countOf(req.Verb), s.start
		if count != s.calls && len(count) == maxLasting {
			count, start = s.calls, refuseLasting
		}
		select {
		case count <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		wait := start(req)
		s.waits.Go(func() { s.answer(req.Call, wait, count) }) // without the request, which may be large
	}
}

// readerOnly hides other methods, so that the decoder has a buffer of its own.
type readerOnly struct{ io.Reader }

// countOf returns among which calls one is counted.
func (s *session) countOf(v verb) chan struct{} {
	switch v {
	case watch:
		return s.watches
	case getVersionstamp:
		return s.stamps
	}
	return s.calls
}

// refuseLasting answers a call of which there are too many.
func refuseLasting(Request) (wait func() (Response, error)) {
	return func() (Response, error) {
		return Response{}, kv.NewError(kv.CodeTooManyWatches, "%d watches, or versionstamps, of the connection wait already", maxLasting)
	}
}

// start starts a call.
func (s *session) start(req Request) (wait func() (Response, error)) {
	t, err := s.transactionOf(req.Tx)
	if err != nil {
		return func() (Response, error) { return Response{}, err }
	}
	return t.start(s, req)
}

// answer waits for the result of a call, sends it, and takes the call out of those that are counted.
func (s *session) answer(number uint64, wait func() (Response, error), count <-chan struct{}) {
	defer func() { <-count }()
	resp, err := wait()
	resp.Call, resp.Failure = number, failureOf(err)
	s.out <- struct{}{}
	defer func() { <-s.out }()
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeWithin)) // if it cannot be set, writes fail, too
	if s.to.Encode(resp) != nil {
		s.conn.Close() // the reader ends the session
	}
}

// transactionOf returns the transaction with the number, a new one if there is none.
func (s *session) transactionOf(number uint64) (*transaction, error) {
	if t := s.transactions[number]; t != nil {
		return t, nil
	}
	if len(s.transactions) >= maxTransactions {
		return nil, kv.NewError(kv.CodeClientInvalidOperation, "the connection has %d transactions that were not released", maxTransactions)
	}
	tx, err := s.db.Begin()
	if err != nil {
		return nil, err
	}
	t := newTransaction(tx)
	s.transactions[number] = t
	return t, nil
}

// take adds bytes to those that transactions hold, and reports whether that is permitted.
func (s *session) take(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written+n > maxWritten {
		return false
	}
	s.written += n
	return true
}

func (s *session) give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written -= n
}
