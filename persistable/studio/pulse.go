// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

const (
	// askAfter is how long a request may take before the database is asked whether it answers at all, and
	// how often it is asked then.
	askAfter = time.Second
	// silentAfter is how long that answer may take. Then requests are given up.
	silentAfter = 3 * time.Second
)

// pulse knows whether the database answers. A request that takes long is one of a large database or of one that does
// not answer, which a read of one key tells apart. It is safe for concurrent use.
type pulse struct {
	engine   kv.Database
	database string          // its name in messages
	remedy   string          // what to do when it does not answer
	ended    context.Context // done when the handler is closed: it ends reads
	reads    sync.WaitGroup

	mu     sync.Mutex
	asked  *question // nil: there is none
	closed bool      // no read begins any more
}

// question is a read that the database has not answered yet.
type question struct {
	since    time.Time
	answered chan struct{} // closed then
}

// isSilent reports whether the answer has taken too long.
func (q *question) isSilent() bool { return q != nil && time.Since(q.since) >= silentAfter }

// outage is why a request was given up: the database does not answer.
type outage struct {
	database string
	since    time.Time
	remedy   string
	unknown  bool // a commit was under way
}

// Error implements error.
func (o *outage) Error() string {
	silent := time.Since(o.since).Round(time.Second)
	text := fmt.Sprintf("%s has not answered for %v, since %s.", o.database, silent, o.since.Format("2006-01-02 15:04:05 MST"))
	if o.unknown {
		text += " It is not known whether the change was made: look at it before you repeat it."
	}
	if o.remedy != "" {
		text += " " + o.remedy
	}
	return text
}

// Unwrap returns [kv.ErrOutcomeUnknown] if that is so, else nil.
func (o *outage) Unwrap() error {
	if o.unknown {
		return kv.ErrOutcomeUnknown
	}
	return nil
}

// guard returns a verb that is given up when the database falls silent. Its error is an *outage then.
func (p *pulse) guard(do verb) verb {
	return func(r *http.Request) (value any, err error) {
		err = p.during(r.Context(), func(ctx context.Context) (err error) {
			value, err = do(r.WithContext(ctx))
			return err
		})
		return value, err
	}
}

// during calls do with a context that ends when the database falls silent. The error is an *outage then, and if the
// database has been silent before.
func (p *pulse) during(ctx context.Context, do func(context.Context) error) error {
	if silent := p.silence(); silent != nil {
		return silent
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go p.watch(ctx, end)
	return explain(ctx, do(ctx))
}

// silence returns an *outage if the database is silent, else nil.
func (p *pulse) silence() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked.isSilent() {
		return nil
	}
	return p.newOutage(p.asked)
}

func (p *pulse) newOutage(q *question) *outage {
	return &outage{database: p.database, since: q.since, remedy: p.remedy}
}

// watch ends the context of a request when the database falls silent.
func (p *pulse) watch(ctx context.Context, end context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(askAfter):
		}
		q := p.ask()
		select {
		case <-ctx.Done():
			return
		case <-q.answered:
		case <-time.After(time.Until(q.since.Add(silentAfter))):
			end(p.newOutage(q))
			return
		}
	}
}

// ask asks the database, unless it has been asked and has not answered yet. Once the handler is closed
// it asks no more, and the question counts as answered.
func (p *pulse) ask() *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked != nil {
		return p.asked
	}
	q := &question{time.Now(), make(chan struct{})}
	if p.closed {
		close(q.answered)
		return q
	}
	p.asked = q
	p.reads.Go(func() { p.await(q) })
	return q
}

// await reads until the database answers or the handler is closed. Then there is no question any more.
func (p *pulse) await(q *question) {
	for p.ended.Err() == nil && !p.answers() {
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = nil
	close(q.answered)
}

// answers reads one key, of the directory layer, for silentAfter at most. An error is an answer, too.
func (p *pulse) answers() bool {
	ctx, cancel := context.WithTimeout(p.ended, silentAfter)
	defer cancel()
	tx, err := p.engine.Begin()
	if err != nil {
		return true
	}
	defer tx.Release()
	_, err = tx.Get([]byte{0xfe}).Get(ctx)
	return err == nil || ctx.Err() == nil
}

// close waits until no read is under way. p.ended is done. Requests may still be under way.
func (p *pulse) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.reads.Wait()
}

// explain returns the *outage that has ended the context of a request that failed, or the error itself.
func explain(ctx context.Context, err error) error {
	var silent *outage
	if err == nil || !errors.As(context.Cause(ctx), &silent) {
		return err
	}
	silent.unknown = kv.IsOutcomeUnknown(err)
	return silent
}
