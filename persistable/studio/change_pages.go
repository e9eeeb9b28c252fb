// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// changePages send the changes of a store to a page while they happen.
type changePages struct {
	stores *storePages
	pulse  *pulse
	ended  context.Context // done when the handler is closed: it ends streams
}

// change is a change in the stream of a store's feed.
type change struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Deleted bool   `json:"deleted"`
	Cells   []cell `json:"cells,omitempty"` // of the record as it is now
}

// stream is a feed on its way to a page, as server-sent events.
type stream struct {
	w     http.ResponseWriter
	flush func() error
}

// stream sends the changes of a store after a version, and those that follow, until the
// page goes. A browser that connects again says by Last-Event-ID where it was.
func (p *changePages) stream(w http.ResponseWriter, r *http.Request) {
	var s *dynamic.Store
	var since persistable.Version
	err := p.pulse.during(r.Context(), func(ctx context.Context) (err error) {
		s, since, err = p.openFeed(r.WithContext(ctx))
		return err
	})
	if err != nil {
		answer(func(*http.Request) (any, error) { return nil, err })(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.ended, cancel)()
	w.Header().Set("Content-Type", "text/event-stream")
	out := stream{w, http.NewResponseController(w).Flush}
	for {
		n := 0
		err := p.pulse.during(ctx, func(ctx context.Context) (err error) {
			since, n, err = out.sendChanges(ctx, s, since)
			return err
		})
		if err != nil {
			_ = out.send("failed", "", newFailure(err)) // the page may have gone
			return
		}
		if n == 0 && out.send("idle", "", map[string]string{}) != nil {
			return
		}
		if err := awaitChange(ctx, s, since); err != nil {
			_ = out.send("failed", "", newFailure(err)) // the page may have gone
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// idleEvery is how long a stream without changes is silent: a proxy may end one that is silent
// for longer, and a page that has gone is noticed when the stream is written to.
const idleEvery = 15 * time.Second

// awaitChange waits until there may be a change after a version, for idleEvery at most, or until
// ctx ends, which is not an error.
func awaitChange(ctx context.Context, s *dynamic.Store, since persistable.Version) error {
	ctx, cancel := context.WithTimeout(ctx, idleEvery)
	defer cancel()
	if err := s.Feed().Await(ctx, since); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// openFeed returns the store of a request and the version after which its stream begins.
func (p *changePages) openFeed(r *http.Request) (s *dynamic.Store, since persistable.Version, err error) {
	if s, err = p.stores.open(r); err != nil {
		return nil, since, err
	}
	if !s.Schema().Versions {
		return nil, since, &statusError{http.StatusConflict, errors.New("the records of this type have no versions, so that there is no feed of their changes: give the type the marker or a field persistable.Version")}
	}
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("since")
	}
	if text != "" {
		if err = since.UnmarshalText([]byte(text)); err != nil {
			err = invalid("since: %w", err)
		}
	}
	return s, since, err
}

// sendChanges sends the changes after a version. It returns the version of the last one and how many there were.
func (o *stream) sendChanges(ctx context.Context, s *dynamic.Store, since persistable.Version) (persistable.Version, int, error) {
	n := 0
	for c, err := range s.Feed().Changes(ctx, since) {
		if err != nil {
			return since, n, err
		}
		one := change{ID: c.ID.String(), Version: c.Version.String(), Deleted: c.Deleted}
		if c.Record != nil {
			r, err := newRow(s, c.Record, shownInTable)
			if err != nil {
				return since, n, err
			}
			one.Cells = r.Cells
		}
		since = c.Version
		n++
		if err := o.send("change", one.Version, one); err != nil {
			return since, n, err
		}
	}
	return since, n, nil
}

// send sends an event. JSON has no line breaks, so that it is one line of data.
func (o *stream) send(kind, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	if _, err := fmt.Fprintf(o.w, "event: %s\n%sdata: %s\n\n", kind, id, text); err != nil {
		return err
	}
	return o.flush()
}
