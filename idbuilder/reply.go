// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// replyKey is where the answer to a request with an Idempotency-Key is kept.
type replyKey struct {
	document string
	request  string // what the first request asked for
}

// keptReply is the document.
type keptReply struct {
	Request string          `json:"request"`
	Body    json.RawMessage `json:"body"`
}

// errReplayed: the answer was sent already.
var errReplayed = errors.New("idbuilder: the answer of an earlier request was repeated")

// replayReply sends the answer of the request that had the same Idempotency-Key, if there was
// one, and returns errReplayed. It is the same for the requests of one token only.
func (c *call) replayReply(key string, t idconfig.Type) error {
	text := c.r.Header.Get("Idempotency-Key")
	if text == "" {
		return nil
	}
	if len(text) > 255 {
		return api.Errorf(api.Invalid, "Idempotency-Key: it has %d bytes; allowed are 1 to 255", len(text))
	}
	print := c.fingerprint()
	id := hashOf(string(c.who.Hash[:]), string(t), key, text)
	c.reply = &replyKey{document: hex.EncodeToString(id[:]), request: hex.EncodeToString(print[:])}
	return c.sendReply()
}

// sendReply sends the kept answer, if there is one.
func (c *call) sendReply() error {
	d, err := c.worker.store.Get(c.ctx(), store.Replies, c.reply.document)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !d.Expires.IsZero() && !c.worker.options.Now().Before(d.Expires):
		return c.dropReply(d)
	}
	var kept keptReply
	if err := json.Unmarshal(d.Value, &kept); err != nil {
		return &store.CorruptError{Where: "reply " + d.Key, Reason: "it cannot be read", Err: err}
	}
	if kept.Request != c.reply.request {
		return api.Errorf(api.Invalid, "Idempotency-Key: another request had it in the last %v", c.worker.options.ReplyLifetime)
	}
	c.reply, c.body = nil, append(c.body[:0], kept.Body...)
	c.w.Header().Set("Idempotency-Replayed", "true")
	if err := c.send(http.StatusOK); err != nil {
		return err
	}
	return errReplayed
}

func (c *call) dropReply(d store.Document) error {
	return c.worker.store.Delete(c.ctx(), store.Replies, d.Key, d.Version)
}

// keepReply keeps the answer before it is sent. If another request with the same
// Idempotency-Key was faster, its answer is sent instead, and the IDs of this one
// are lost.
func (c *call) keepReply() error {
	value, err := json.Marshal(keptReply{c.reply.request, c.body})
	if err != nil {
		return err
	}
	expires := c.worker.options.Now().Add(c.worker.options.ReplyLifetime)
	_, err = c.worker.store.Put(c.ctx(), store.Replies, store.Document{Key: c.reply.document, Value: value, Expires: expires})
	if errors.Is(err, store.ErrConflict) {
		if err := c.sendReply(); err != nil {
			return err
		}
		return fmt.Errorf("idbuilder: the answer of a request with the same Idempotency-Key came and went: %w", err)
	}
	return err
}

// hashOf returns the hash of texts, each with its length.
func hashOf(texts ...string) [32]byte {
	var all strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&all, "%d:%s", len(text), text)
	}
	return sha256Sum(all.String())
}
