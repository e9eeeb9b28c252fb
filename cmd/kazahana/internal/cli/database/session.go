// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// Session keeps a database open between commands: for reading until one of them writes,
// for writing from then on. It is for one goroutine at a time.
type Session struct {
	at     place
	path   []string // the working directory
	engine kv.Database
	writes bool            // engine and stores are open for writing
	stores *persistable.DB // nil until a command needs it
}

// NewSession returns a session on the database that the flags of a command name. The
// first command opens it.
func NewSession(cmd *cobra.Command) (*Session, error) {
	at, err := placeOf(cmd)
	return &Session{at: at}, err
}

// String names the database.
func (s *Session) String() string { return s.at.String() }

// Remedy says what to do when the database does not answer.
func (s *Session) Remedy() string { return s.at.remedy() }

// Path returns the working directory.
func (s *Session) Path() []string { return slices.Clone(s.path) }

// SetPath sets the working directory.
func (s *Session) SetPath(path []string) { s.path = slices.Clone(path) }

// sessionKey is the key of a context's session.
type sessionKey struct{}

// Attach returns a context in which all commands share the session.
func (s *Session) Attach(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionOf returns the session that a command belongs to; nil for a command of its own.
func sessionOf(cmd *cobra.Command) *Session {
	if cmd.Context() == nil {
		return nil
	}
	s, _ := cmd.Context().Value(sessionKey{}).(*Session)
	return s
}

// checkFlags refuses a command of the session that names a database.
func (s *Session) checkFlags(cmd *cobra.Command) error {
	for _, name := range placeFlags {
		if f := cmd.Flag(name); f != nil && f.Changed {
			return shell.Misuse(cmd, fmt.Errorf("--%s: the database of a shell is fixed, and is %s", name, s.at))
		}
	}
	return nil
}

// openEngine returns the engine, open for writing if writes is set.
func (s *Session) openEngine(ctx context.Context, writes bool) (kv.Database, error) {
	if s.engine != nil && (s.writes || !writes) {
		return s.engine, nil
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	engine, err := s.at.open(ctx, writes)
	if err != nil {
		return nil, err
	}
	s.engine, s.writes = engine, writes
	return engine, nil
}

// openStores returns the DB on the engine. One that writes leases machine ids with the
// first id that it makes.
func (s *Session) openStores(ctx context.Context, writes bool) (*persistable.DB, error) {
	engine, err := s.openEngine(ctx, writes)
	if err != nil || s.stores != nil {
		return s.stores, err
	}
	s.stores, err = persistable.Open(ctx, engine, persistable.Options{ReadOnly: !s.writes, IDs: persistable.IDOptions{Off: !s.writes}})
	return s.stores, err
}

// Close closes what is open. A later command opens it again.
func (s *Session) Close() (err error) {
	if s.stores != nil {
		err = s.stores.Close()
	}
	if s.engine != nil {
		err = errors.Join(err, s.engine.Close())
	}
	s.engine, s.stores, s.writes = nil, nil, false
	return err
}
