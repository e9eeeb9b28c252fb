// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Info is a lease in a listing: without its secret.
type Info struct {
	ID           int64             `json:"id"`
	SequenceBits int               `json:"bitSeq"`
	Created      time.Time         `json:"created"`
	Expired      time.Time         `json:"expired"`
	Active       bool              `json:"active"`           // by the store's clock: it has not ended, nor was it released
	LastTs       *time.Time        `json:"lastTs,omitempty"` // of a lease that was released: the last millisecond used
	Meta         map[string]string `json:"meta,omitempty"`
}

// ListOptions choose what [Server.List] returns.
type ListOptions struct {
	// After continues a listing: [Page.Next] of the page before. Empty begins.
	After string
	// Limit is the number of leases of a page, from 1 to 1000; 0 means 1000.
	Limit int
	// Ended lists leases that have ended or were released, too, until their
	// positions are granted again.
	Ended bool
}

// Page is a part of a listing, in the order of the positions.
type Page struct {
	Leases []Info `json:"leases"` // not nil, so that it is [] in JSON if there are none
	// Next is the ListOptions.After of the next page, which may be empty; ""
	// if this is the last one.
	Next string `json:"next,omitempty"`
}

// UnreadBlocks returns the errors that a listing joins: one for each block that it has passed over,
// an [ErrCorrupt] or an [ErrNewer]. It returns nil if the listing has failed, or has read all blocks.
func (p Page) UnreadBlocks(err error) []error {
	if p.Leases == nil || err == nil {
		return nil
	}
	all := flatten(err)
	if slices.ContainsFunc(all, func(one error) bool { return !IsUnreadable(one) }) {
		return nil
	}
	return all
}

// IsUnreadable reports whether an error says of what is stored that it cannot be read: an [ErrCorrupt] or
// an [ErrNewer]. A listing of several services can go on with the next one.
func IsUnreadable(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewer) }

// flatten returns the errors that an error joins, or the error itself if it joins none. An error that
// wraps ErrCorrupt or ErrNewer and its cause is one error.
func flatten(err error) (all []error) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		joined, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		parts := joined.Unwrap()
		if slices.Contains(parts, ErrCorrupt) || slices.Contains(parts, ErrNewer) {
			return []error{e}
		}
		for _, one := range parts {
			all = append(all, flatten(one)...)
		}
		return all
	}
	return []error{err}
}

// maxPage is the number of blocks that a page looks at, at most.
const maxPage = 1000

// resolve returns the first position to list, and the limit.
func (o ListOptions) resolve() (base uint64, limit int, err error) {
	limit = o.Limit
	if limit == 0 {
		limit = maxPage
	}
	if limit < 0 || limit > maxPage {
		return 0, 0, fmt.Errorf("%w: a limit of %d leases; it must be from 0 to %d", ErrInvalid, o.Limit, maxPage)
	}
	if o.After == "" {
		return 0, limit, nil
	}
	var last uint32
	if n, err := fmt.Sscanf(o.After, "%08x", &last); n != 1 || err != nil || fmt.Sprintf("%08x", last) != o.After {
		return 0, 0, fmt.Errorf("%w: %q continues no listing", ErrInvalid, o.After)
	}
	return uint64(last) + 1, limit, nil
}

// newInfo returns the lease of a block that has a holder.
func newInfo(b *block, now int64) Info {
	h := b.Holder
	info := Info{
		ID: int64(b.base >> b.SequenceBits), SequenceBits: b.SequenceBits, Meta: h.Meta,
		Created: time.UnixMilli(h.Created).UTC(), Expired: time.UnixMilli(h.Expired).UTC(),
		Active: h.Released == nil && now < h.Expired,
	}
	if h.Released != nil {
		last := time.UnixMilli(*h.Released).UTC()
		info.LastTs = &last
	}
	return info
}
