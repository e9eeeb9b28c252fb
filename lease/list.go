// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"
)

// Info is a lease as listings show it: without its secret.
type Info struct {
	ID      int64             `json:"id"`
	BitSeq  int               `json:"bitSeq"`
	Created time.Time         `json:"created"`
	Expired time.Time         `json:"expired"`
	Active  bool              `json:"active"`           // by the store's clock: it has not ended, nor was it released
	LastTs  *time.Time        `json:"lastTs,omitempty"` // of a lease that was released: the last millisecond used
	Meta    map[string]string `json:"meta,omitempty"`
}

// ListOptions choose what [Server.List] returns.
type ListOptions struct {
	// After continues a listing: [Page.Next] of the page before. Empty begins.
	After string
	// Limit is the number of leases of a page, from 1 to 1000; 0 means 1000.
	Limit int
	// Ended lists leases that have ended or were released, too, as long as
	// nobody else was granted their positions.
	Ended bool
}

// Page is a part of a listing, in the order of the positions.
type Page struct {
	Leases []Info `json:"leases"`
	// Next is the ListOptions.After of the next page, which may be empty; ""
	// if this is the last one.
	Next string `json:"next,omitempty"`
}

// maxPage is the number of blocks that a page looks at, at most.
const maxPage = 1000

// List returns the leases of a service, a page at a time; each page is as of one
// moment. Errors: [ErrInvalid], [ErrUnknownService], [*CorruptError], and those
// of the store.
func (s *Server) List(ctx context.Context, serviceID string, options ListOptions) (Page, error) {
	service, config, err := s.options.service(serviceID)
	if err != nil {
		return Page{}, err
	}
	begin, limit, err := options.begin()
	if err != nil {
		return Page{}, fmt.Errorf("lease: list of service %q: %w", service, err)
	}
	var page Page
	err = s.update(ctx, service, config, func(ses *session) error {
		page = Page{}
		if _, err := ses.load(ctx); err != nil {
			return err
		}
		pairs, err := ses.tx.Scan(ctx, blockKey(begin), []byte{keyBlock + 1}, maxPage)
		if err != nil {
			return err
		}
		return ses.list(&page, pairs, limit, options.Ended)
	})
	if err != nil {
		return Page{}, fmt.Errorf("lease: list of service %q: %w", service, err)
	}
	return page, nil
}

// begin returns the first position to list, and the limit.
func (o ListOptions) begin() (base uint64, limit int, err error) {
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

// list fills the page with the leases of blocks.
func (ses *session) list(page *Page, pairs []Pair, limit int, ended bool) error {
	for _, pair := range pairs {
		b, err := ses.block(pair.Key, pair.Value)
		if err != nil {
			return err
		}
		page.Next = fmt.Sprintf("%08x", b.base)
		if b.Holder == nil {
			continue
		}
		if info := b.info(ses.now); info.Active || ended {
			page.Leases = append(page.Leases, info)
		}
		if len(page.Leases) == limit {
			return nil
		}
	}
	if len(pairs) < maxPage {
		page.Next = ""
	}
	return nil
}

func (b *block) info(now int64) Info {
	h := b.Holder
	info := Info{
		ID: int64(b.base >> b.BitSeq), BitSeq: b.BitSeq, Meta: h.Meta,
		Created: time.UnixMilli(h.Created).UTC(), Expired: time.UnixMilli(h.Expired).UTC(),
		Active: h.Released == nil && now < h.Expired,
	}
	if h.Released != nil {
		last := time.UnixMilli(*h.Released).UTC()
		info.LastTs = &last
	}
	return info
}
