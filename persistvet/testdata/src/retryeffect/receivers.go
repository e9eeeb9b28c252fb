// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// scan reads rows in a transaction.
type scan struct {
	rows, fresh, whole []string
	last               string
	sum                int
	found              map[string]int
	page               struct{ rows []string }
	mu                 sync.Mutex
	log                strings.Builder
	attempts           int
}

func (s *scan) read(ctx context.Context, tx kv.ReadTransaction, r kv.SelectorRange) error {
	s.fresh = nil
	s.attempts++
	for pair, err := range tx.GetRange(r, kv.RangeOptions{}).All(ctx) {
		if err != nil {
			return err
		}
		s.rows = append(s.rows, string(pair.Key))
		s.fresh = append(s.fresh, string(pair.Key))
		s.sum = s.sum + len(pair.Value)
		s.found[string(pair.Key)]++
		s.page.rows = append(s.page.rows, string(pair.Key))
		s.last = string(pair.Key)
	}
	return nil
}

// readAll adds to what read does, and begins anew with one of it.
func (s *scan) readAll(ctx context.Context, tx kv.ReadTransaction) error {
	s.sum = 0
	return s.read(ctx, tx, kv.SelectorRange{})
}

func (s *scan) begin() {
	s.rows = s.rows[:0]
	clear(s.found)
	s.page.rows, s.sum = nil, 0
}

func (s *scan) run(ctx context.Context, db kv.Database) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		return s.readAll(ctx, tx) // want "adds to, or moves on, the outer variable s.rows in scan.readAll: a retry does it again. Reset the variable"
	})
}

func (s *scan) runAnew(ctx context.Context, db kv.Database) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		s.begin()
		return s.readAll(ctx, tx)
	})
}

func (s *scan) runReset(ctx context.Context, db kv.Database) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		s.rows, s.page.rows = nil, nil
		return s.readAll(ctx, tx) // want "adds to, or moves on, the outer variable s.found in scan.readAll"
	})
}

func runs(ctx context.Context, db kv.Database, out *scan) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		*out = scan{}
		out.whole = append(out.whole, "a")
		var own scan
		if err := own.readAll(ctx, tx); err != nil {
			return err
		}
		return out.readAll(ctx, tx)
	})
}

// pager reads pages, each in a transaction of its own.
type pager struct {
	next, begin []byte
	known       *scan
	token       string
}

func (p *pager) page(ctx context.Context, tx kv.ReadTransaction) error {
	pairs, err := tx.GetRange(kv.SelectorRange{Begin: p.next}, kv.RangeOptions{}).Slice(ctx)
	if err == nil && len(pairs) > 0 {
		p.next = pairs[len(pairs)-1].Key
	}
	return err
}

func (p *pager) run(ctx context.Context, db kv.Database) error {
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		return p.page(ctx, tx) // want "adds to, or moves on, the outer variable p.next in pager.page: a retry does it again"
	})
	own := ""
	return errors.Join(err, db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		p.next = p.begin
		if err := p.page(ctx, tx); err != nil {
			return err
		}
		made, err := use(tx, own)
		if err != nil || made == own {
			return err
		}
		if p.token, err = use(tx, p.token); err != nil { // want "reads from the outer variable p.token and moves it on: a retry does it again"
			return err
		}
		p.known = refresh(tx, p.known)
		p.begin, own = nil, made // which the next attempt recognizes
		return nil
	}))
}

func use(tx kv.ReadTransaction, token string) (string, error) { return token, nil }

func refresh(tx kv.ReadTransaction, s *scan) *scan { return s }

func pointers(ctx context.Context, db kv.Database, out, more *[]string, n *int) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		*out = nil
		*out = append(*out, "a")
		*more = append(*more, "b") // want "appends to the outer variable \\*more"
		*n += 1                    // want "counts in the outer variable \\*n"
		return nil
	})
}

// collect resets the whole, which contains the field.
func (s *scan) collect(tx kv.ReadTransaction) {
	*s = scan{}
	s.whole = append(s.whole, "a")
}
