// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// Admin tokens, as MakeAdmin makes them.
const (
	admin = "3q2-7w8kPz0aVbXcDdEeFfGgHhIiJjKkLlMmNnOoPpQ"
	other = "ZzYyXxWwVvUuTtSsRrQqPpOoNnMmLlKkJjIiHhGgFfE"
)

// process has the watch and the authority of one process.
type process struct {
	testing.TB
	*token.Authority
	watch *revision.Watch
}

func start(t testing.TB, s store.Store, o token.Options) process {
	t.Helper()
	w, err := revision.New(s, revision.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	a, err := token.New(s, w, o)
	if err != nil {
		t.Fatal(err)
	}
	return process{t, a, w}
}

// key returns a key token.
func (p process) key(admin, key string) token.Token {
	p.Helper()
	t, err := p.Key(p.Context(), admin, key)
	if err != nil {
		p.Fatal(err)
	}
	return t
}

func (p process) reset(admin, key string) token.Token {
	p.Helper()
	t, err := p.Reset(p.Context(), admin, key)
	if err != nil {
		p.Fatal(err)
	}
	return t
}

// wantIdentity checks the identity of a token, or the error.
func (p process) wantIdentity(text string, want token.Identity, wantErr error) {
	p.Helper()
	got, err := p.Check(p.Context(), text)
	if want.Hash = got.Hash; !errors.Is(err, wantErr) || err == nil && got != want {
		p.Errorf("the token is %+v, %v; want %+v, %v", got, err, want, wantErr)
	}
}

func bubble(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, storetest.Memory(t)) })
}

// clock is a clock that a test sets.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.at.Load()) }

func (c *clock) set(t time.Time) { c.at.Store(t.UnixNano()) }

// documents returns the tokens of a store: records, and indexes by hash.
func documents(t testing.TB, s store.Store) (records, indexes []store.Document) {
	t.Helper()
	all, err := s.List(t.Context(), store.Tokens, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		switch {
		case d.Key == "__mark__": // the secret of the marks belongs to no token
		case strings.HasPrefix(d.Key, "#"):
			indexes = append(indexes, d)
		default:
			records = append(records, d)
		}
	}
	return records, indexes
}

// together calls fn from n goroutines at once, with their numbers.
func together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}
