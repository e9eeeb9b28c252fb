// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// connection carries the calls of all transactions to the other process, and the answers back. It is safe for
// concurrent use.
type connection struct {
	conn  io.ReadWriteCloser
	about string // the other process, in errors

	out sync.Mutex // one call is written at a time
	to  *gob.Encoder

	mu     sync.Mutex
	last   uint64                           // the number of the last call
	calls  map[uint64]*kv.Promise[Response] // that wait for an answer
	reason error                            // why it is lost; nil while it is not
}

func newConnection(conn io.ReadWriteCloser, about string) *connection {
	c := &connection{conn: conn, about: about, to: gob.NewEncoder(conn), calls: map[uint64]*kv.Promise[Response]{}}
	go c.read()
	return c
}

// read hands out answers until the connection is lost.
func (c *connection) read() {
	from := gob.NewDecoder(c.conn)
	for {
		var resp Response
		if err := from.Decode(&resp); err != nil {
			c.lose(err)
			return
		}
		c.mu.Lock()
		call := c.calls[resp.Call]
		delete(c.calls, resp.Call)
		c.mu.Unlock()
		if call != nil {
			call.Resolve(resp, nil)
		}
	}
}

// lose ends the connection because of an error.
func (c *connection) lose(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.end(fmt.Errorf("%w: %w", kv.ErrClosed, kv.NewError(kv.CodeConnectionFailed, "%s has ended the connection: %v", c.about, err)))
}

// end closes the connection, and fails the calls that wait.
func (c *connection) end(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		return
	}
	c.reason = reason
	c.conn.Close()
	for _, call := range c.calls {
		call.Resolve(Response{}, reason)
	}
}

// lost returns why the connection is lost; nil if it is not known to be.
func (c *connection) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// sentCall is a call under way.
type sentCall struct {
	number   uint64
	response *kv.Promise[Response]
	sent     bool // the other process may have it
}

// send sends a call. Calls arrive in the order in which they are sent.
func (c *connection) send(req Request) sentCall {
	c.out.Lock() // not mu: while the other process does not read, answers must be taken
	defer c.out.Unlock()
	call := c.register(&req)
	if !call.sent {
		return call
	}
	if err := c.to.Encode(req); err != nil {
		c.lose(err)
	}
	return call
}

// register numbers a call, and notes that it waits for an answer, unless the connection is lost.
func (c *connection) register(req *Request) sentCall {
	call := sentCall{response: kv.NewPromise[Response]()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason != nil {
		call.response.Resolve(Response{}, c.reason)
		return call
	}
	c.last++
	req.Call, call.number, call.sent = c.last, c.last, true
	if req.Verb.answered() {
		c.calls[req.Call] = call.response
	}
	return call
}

// wait waits for the answer.
func (s sentCall) wait() (Response, error) {
	<-s.response.Done()
	resp, err := s.response.Result()
	if err != nil {
		return Response{}, err
	}
	return resp, resp.Failure.err()
}
