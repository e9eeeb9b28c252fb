// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// FormattedKey gives the IDs of a formatted key; see [Client.Formatted]. An ID has the
// date at which it was fetched, at most [Options.FormattedAge] before it is given.
type FormattedKey struct {
	chain[string]
	key string
}

func newFormatted(c *Client, key string) *FormattedKey {
	h := &FormattedKey{key: key}
	h.age = max(c.options.FormattedAge, 0)
	h.init(c, h.fetchIDs)
	return h
}

// Next returns the next ID, in the order in which the service gave them. It looks at ctx
// only while it waits for the service. Errors are a [*RequestError],
// [ErrClosed], or the cause of ctx's end.
func (h *FormattedKey) Next(ctx context.Context) (string, error) {
	s := h.current.Load()
	i := s.next.Add(1)
	if i > int64(len(s.ids)) {
		return h.takeNext(ctx, s)
	}
	if i == s.half {
		h.refillAhead()
	}
	return s.ids[i-1], nil
}

// NextN fills dst with the next IDs and returns how many it gave: all, unless it returns
// an error. Errors are those of [FormattedKey.Next].
func (h *FormattedKey) NextN(ctx context.Context, dst []string) (int, error) {
	return h.nextN(ctx, dst)
}

func (h *FormattedKey) fetchIDs(ctx context.Context, size int) ([]string, error) {
	return requestIDs(ctx, h.client, "/v1/id/formatted", h.key, size, readTexts)
}

func readTexts(data json.RawMessage) ([]string, error) {
	var t api.Texts
	err := json.Unmarshal(data, &t)
	return either(t.ID, t.IDs), err
}

// String names the key.
func (h *FormattedKey) String() string { return fmt.Sprintf("client.FormattedKey(%q)", h.key) }

// Format implements [fmt.Formatter]: a handle prints its key.
func (h *FormattedKey) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// LogValue implements [slog.LogValuer].
func (h *FormattedKey) LogValue() slog.Value { return slog.StringValue(h.String()) }
