// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// aboutKeys says in the help of a verb how keys are given and shown.
const aboutKeys = database.AboutKeys + `

With --dir, keys are those of the directory: ("R", "Order", 42) is a record of it. Without, they are
keys of the database as they are stored, and each is shown with the directory to which it belongs.
` + database.About

// kvCommand returns kazahana kv.
func kvCommand(c *shell.Console) *cobra.Command {
	return shell.Group("kv", "Show and clear keys and values, whatever wrote them", getPairCommand(c), rangeCommand(c), clearCommand(c))
}

func getPairCommand(c *shell.Console) *cobra.Command {
	var dir string
	o := showOptions{withDir: true}
	cmd := &cobra.Command{
		Use: "get KEY", Short: "Show the value of a key", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the value of a key as text with escapes, and as a tuple where it is one; --json also has the bytes
in hexadecimal. A key that does not exist gives the exit code 4.
` + aboutKeys,
		Example: "  kazahana kv get '(\"R\", \"Order\", 42)' --dir tenants/tenant-1/orders --db data\n  kazahana kv get 0x15150252 --db data --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := database.ParseKey(args[0])
			if err != nil {
				return shell.Invalid(err)
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				p, err := openKeyPlace(ctx, cmd, db, dir)
				if err != nil {
					return err
				}
				found, err := getPair(ctx, db.Engine(), append(p.prefix[:len(p.prefix):len(p.prefix)], own...))
				if err != nil {
					return err
				}
				shown, err := p.show(ctx, found, o)
				if err != nil {
					return err
				}
				return c.Write(shown)
			})
		},
	}
	addDir(cmd, &dir)
	cmd.Flags().BoolVar(&o.raw, "raw", false, "show the whole key, with the prefix of its directory, and its bytes")
	return cmd
}

func getPair(ctx context.Context, db kv.Database, key []byte) (kv.KeyValue, error) {
	var value []byte
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		value, err = tx.Get(key).Get(ctx)
		return err
	})
	if err == nil && value == nil {
		err = database.Missing(fmt.Errorf("there is no such key: %s", database.FormatKey(key)))
	}
	return kv.KeyValue{Key: key, Value: value}, err
}

// pairPage is the part of a range that one run of a verb shows.
type pairPage struct {
	limit   int // 0: all
	token   string
	reverse bool
}

func (p *pairPage) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 100, "`number` of keys to show at most; 0: all")
	shell.AddToken(cmd, &p.token)
	cmd.Flags().BoolVar(&p.reverse, "reverse", false, "from the end of the range backward")
}

// check refuses flags that mean nothing.
func (p *pairPage) check(cmd *cobra.Command) error {
	if p.limit < 0 {
		return shell.Misuse(cmd, errors.New("--limit: it must not be negative"))
	}
	return nil
}

// rest returns the part of a range after the page that gave the token, which is the last
// key of that page.
func (p *pairPage) rest(r kv.KeyRange) (kv.KeyRange, error) {
	if p.token == "" {
		return r, nil
	}
	last, err := hex.DecodeString(p.token)
	if err != nil || bytes.Compare(last, r.Begin) < 0 || bytes.Compare(last, r.End) >= 0 {
		return r, shell.Invalid(fmt.Errorf("--%s: %q is not a token that this command has written for this range", shell.TokenFlag, p.token))
	}
	if p.reverse {
		return kv.KeyRange{Begin: r.Begin, End: last}, nil
	}
	return kv.KeyRange{Begin: kv.Successor(last), End: r.End}, nil
}

// each calls do with the pairs of the page. It returns the token of the next one; "" if
// there is none.
func (p *pairPage) each(ctx context.Context, db kv.Database, r kv.KeyRange, do func(kv.KeyValue) error) (next string, err error) {
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

// mostShown is how many bytes of a value the text output shows.
const mostShown = 1000

// showOptions say how pairs are shown.
type showOptions struct {
	keysOnly bool
	raw      bool // as text, the whole key with escapes instead of the decoded tuple
	withDir  bool // as text, the directory of each key
}

// pair is a key with its value.
type pair struct {
	Key       string  `json:"key"` // the whole key, as text with escapes
	KeyHex    string  `json:"keyHex"`
	Directory string  `json:"directory,omitempty"` // to which it belongs
	OwnTuple  string  `json:"tuple,omitempty"`     // what follows the directory's prefix, if it is a tuple
	KeyTuple  string  `json:"keyTuple,omitempty"`  // the whole key, if it is a tuple
	Value     *string `json:"value,omitempty"`     // nil with --keys-only
	ValueHex  *string `json:"valueHex,omitempty"`

	ValueTuple string `json:"valueTuple,omitempty"`
	Bytes      int    `json:"valueBytes"`

	own     string // what follows the directory's prefix, as text with escapes
	short   string // the value, cut
	options showOptions
}

// newPair returns a pair. own is the part of its key after the prefix of its directory.
func newPair(key, own, value []byte, dir string, o showOptions) pair {
	p := pair{
		Key: database.FormatKey(key), KeyHex: hex.EncodeToString(key), KeyTuple: database.FormatTuple(key),
		Directory: dir, own: database.FormatKey(own), Bytes: len(value), options: o,
	}
	if dir != "" {
		p.OwnTuple = database.FormatTuple(own)
	}
	if o.keysOnly {
		return p
	}
	text, digits := database.FormatKey(value), hex.EncodeToString(value)
	p.Value, p.ValueHex, p.ValueTuple, p.short = &text, &digits, database.FormatTuple(value), text
	if len(value) > mostShown {
		p.short = fmt.Sprintf("%s… and %d bytes more; --json shows all", database.FormatKey(value[:mostShown]), len(value)-mostShown)
		p.ValueTuple = ""
	}
	return p
}

// Lines implements [shell.Result].
func (p pair) Lines() []string {
	var pairs []any
	switch {
	case p.options.raw:
		pairs = append(pairs, "key", p.Key, "", "0x"+p.KeyHex)
	case p.OwnTuple != "":
		pairs = append(pairs, "key", p.OwnTuple)
	case p.Directory != "":
		pairs = append(pairs, "key", p.own)
	default:
		pairs = append(pairs, "key", p.Key)
		if p.KeyTuple != "" {
			pairs = append(pairs, "", p.KeyTuple)
		}
	}
	if p.options.withDir && p.Directory != "" {
		pairs = append(pairs, "in", p.Directory)
	}
	if p.Value != nil {
		pairs = append(pairs, "value", p.short)
	}
	if p.ValueTuple != "" {
		pairs = append(pairs, "", p.ValueTuple)
	}
	lines := shell.Fields(pairs...)
	if !p.options.keysOnly {
		lines = append(lines, "")
	}
	return lines
}

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
		if *flag.key, err = database.ParseKey(flag.text); err != nil {
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
		part pairPage
	)
	cmd := &cobra.Command{
		Use: "range [PATH]", Short: "Show the keys of a directory, or of the database, with values", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Show the keys of a directory with their values, or without a path those of the database, at most --limit
of them. Keys are decoded as tuples where they are; with --raw they are shown whole, as text with escapes
and in hexadecimal. An empty range gives no line. If there are more than --limit, the token of the next page
is written to the standard error output, with --json as {"next": "…"}; --token goes on there, with the
same path and range.
` + database.AboutKeys + "\n" + database.AboutPaths + "\n" + database.About,
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
				p, err := openKeyPlace(ctx, cmd, db, dir)
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
func (p *keyPlace) writePage(ctx context.Context, c *shell.Console, part *pairPage, s span, o showOptions) error {
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
// memory. On a cluster to which programs write, the listing is of several versions.
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
