// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
)

// page is the part of a range that one run of a verb shows.
type page struct {
	limit   int // 0: all
	token   string
	reverse bool
}

func (p *page) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 100, "`number` of keys to show at most; 0: all")
	shell.AddToken(cmd, &p.token)
	cmd.Flags().BoolVar(&p.reverse, "reverse", false, "from the end of the range backward")
}

// check refuses flags that mean nothing.
func (p *page) check(cmd *cobra.Command) error {
	if p.limit < 0 {
		return shell.Misuse(cmd, errors.New("--limit: it must not be negative"))
	}
	return nil
}

// rest returns the part of a range behind the page that gave the token, which is the last
// key of it.
func (p *page) rest(r kv.KeyRange) (kv.KeyRange, error) {
	if p.token == "" {
		return r, nil
	}
	last, err := hex.DecodeString(p.token)
	if err != nil || bytes.Compare(last, r.Begin) < 0 || bytes.Compare(last, r.End) >= 0 {
		return r, shell.Invalid(fmt.Errorf("--%s: %q is no token that this command has written for this range", shell.TokenFlag, p.token))
	}
	if p.reverse {
		return kv.KeyRange{Begin: r.Begin, End: last}, nil
	}
	return kv.KeyRange{Begin: kv.Successor(last), End: r.End}, nil
}

// each calls do with the pairs of the page. It returns the token of the next one; "" if
// there is none.
func (p *page) each(ctx context.Context, db kv.Database, r kv.KeyRange, do func(kv.KeyValue) error) (next string, err error) {
	if r, err = p.rest(r); err != nil {
		return "", err
	}
	if p.limit == 0 || p.limit == math.MaxInt {
		return "", eachPair(ctx, db, r, 0, p.reverse, do)
	}
	shown, last := 0, []byte(nil)
	err = eachPair(ctx, db, r, p.limit+1, p.reverse, func(found kv.KeyValue) error {
		if shown++; shown > p.limit {
			next = hex.EncodeToString(last)
			return nil
		}
		last = found.Key
		return do(found)
	})
	return next, err
}
