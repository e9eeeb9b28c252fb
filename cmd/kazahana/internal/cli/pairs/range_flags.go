// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// rangeFlags name a range of keys.
type rangeFlags struct{ prefix, from, to string }

func (f *rangeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.prefix, "prefix", "", "only keys that begin with this `key`; of a tuple, those with further elements")
	flags.StringVar(&f.from, "from", "", "only keys from this `key` on")
	flags.StringVar(&f.to, "to", "", "only keys before this `key`")
}

// given reports whether a flag names a range.
func (f *rangeFlags) given(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("prefix") || cmd.Flags().Changed("from") || cmd.Flags().Changed("to")
}

// parse returns the part of a place that the flags name: without them, all.
func (f *rangeFlags) parse(cmd *cobra.Command) (s span, err error) {
	flags := cmd.Flags()
	if flags.Changed("prefix") && (flags.Changed("from") || flags.Changed("to")) {
		return s, shell.Misuse(cmd, errors.New("--prefix excludes --from and --to"))
	}
	for _, flag := range []struct {
		name, text string
		key        *[]byte
	}{{"prefix", f.prefix, &s.prefix}, {"from", f.from, &s.from}, {"to", f.to, &s.to}} {
		if !flags.Changed(flag.name) {
			continue
		}
		if *flag.key, err = keytext.Parse(flag.text); err != nil {
			return s, shell.Invalid(fmt.Errorf("--%s: %w", flag.name, err))
		}
		if *flag.key == nil {
			*flag.key = []byte{}
		}
	}
	return s, nil
}

// parseBounded is parse for a verb that clears: without --dir an empty key is refused,
// which would be the begin or the end of the database.
func (f *rangeFlags) parseBounded(cmd *cobra.Command) (span, error) {
	for _, name := range []string{"prefix", "from", "to"} {
		flag := cmd.Flags().Lookup(name)
		if flag.Changed && flag.Value.String() == "" && !cmd.Flags().Changed(dirFlag) {
			return span{}, shell.Misuse(cmd, fmt.Errorf("--%s is empty: give a key, or --%s; the keys of all the database are not cleared at once", name, dirFlag))
		}
	}
	return f.parse(cmd)
}

func rangeCommand(c *shell.Console) *cobra.Command {
	var (
		f    rangeFlags
		o    showOptions
		part page
	)
	cmd := &cobra.Command{
		Use: "range [PATH]", Short: "Show the keys of a directory, or of the database, with values", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Show the keys of a directory with their values, or without a path those of the database, at most --limit
of them. Keys are decoded as tuples where they are; with --raw they are shown whole, as text with escapes
and in hexadecimal. An empty range gives no line. If there are more than --limit, the token of the next page
is written to the standard error output, with --json as {"next": "…"}; --token goes on there, with the
same path and range.
` + keytext.About + "\n" + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana kv range tenants/tenant-1/orders --prefix '(\"R\", \"Order\")' --limit 10 --db data\n  kazahana kv range --from '\\xfe' --raw --keys-only --db data",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.parse(cmd)
			if err == nil {
				err = part.check(cmd)
			}
			if err != nil {
				return err
			}
			dir := ""
			if len(args) > 0 {
				dir = args[0]
			}
			o.withDir = dir == ""
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				p, err := openPlace(ctx, cmd, db, dir)
				if err != nil {
					return err
				}
				return p.writePage(ctx, c, &part, r, o)
			})
		},
	}
	f.add(cmd)
	part.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.keysOnly, "keys-only", false, "leave the values out")
	flags.BoolVar(&o.raw, "raw", false, "show whole keys, with the prefix of their directory, and their bytes")
	return cmd
}

// writePage shows a page of a part of the place, and the token of the next one.
func (p *place) writePage(ctx context.Context, c *shell.Console, part *page, s span, o showOptions) error {
	next, err := part.each(ctx, p.db.Engine(), p.keys(s), func(found kv.KeyValue) error {
		shown, err := p.show(ctx, found, o)
		if err != nil {
			return err
		}
		return c.Write(shown)
	})
	if err != nil || next == "" {
		return err
	}
	return c.WriteNext(next)
}

// pairsPerRead is how many pairs one transaction reads: at most 100 kB each, so
// 10 MB.
const pairsPerRead = 100

// eachPair calls do with the pairs of a range, at most limit of them; 0 is all.
// It reads in several transactions, so that a long listing is neither too old nor large in
// memory. If programs write meanwhile, to a cluster, it is of several versions.
func eachPair(ctx context.Context, db kv.Database, r kv.KeyRange, limit int, reverse bool, do func(kv.KeyValue) error) error {
	for left := limit; string(r.Begin) < string(r.End); {
		n := pairsPerRead
		if limit > 0 {
			n = min(n, left)
		}
		pairs, err := readPairs(ctx, db, r, kv.RangeOptions{Limit: n, Reverse: reverse, Mode: kv.ModeWantAll})
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if err := do(p); err != nil {
				return err
			}
		}
		if left -= len(pairs); len(pairs) < n || limit > 0 && left == 0 {
			return nil
		}
		if last := pairs[len(pairs)-1].Key; reverse {
			r.End = last
		} else {
			r.Begin = append(last[:len(last):len(last)], 0)
		}
	}
	return nil
}

func readPairs(ctx context.Context, db kv.Database, r kv.KeyRange, o kv.RangeOptions) (pairs []kv.KeyValue, err error) {
	err = db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		pairs, err = tx.GetRange(r.Selectors(), o).Slice(ctx)
		return err
	})
	return pairs, err
}
