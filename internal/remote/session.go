// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// Session is what a connection has begun. Its exported method is called by net/rpc.
type Session struct {
	db  kv.Database
	ctx context.Context

	mu           sync.Mutex
	closed       bool
	transactions map[uint64]*transaction
}

// Do serves a call.
func (s *Session) Do(req Request, resp *Response) error {
	t, err := s.transactionOf(req.Tx)
	if err != nil {
		resp.Failure = failureOf(err)
		return nil
	}
	answer, err := t.awaitTurn(s, req)()
	*resp = answer
	resp.Failure = failureOf(err)
	return nil
}

// transactionOf returns the transaction with the id, a new one if there is none.
func (s *Session) transactionOf(id uint64) (*transaction, error) {
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

// forgetTransaction lets go of a transaction, of which no further call comes.
func (s *Session) forgetTransaction(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.transactions, id)
}

var errVerb = errors.New("the call is unknown: client and server are of different versions")
