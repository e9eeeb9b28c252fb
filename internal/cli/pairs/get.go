// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/cli/keytext"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
)

// getFlags are the flags of kv get.
type getFlags struct {
	prefix   bool
	to       string
	limit    int
	reverse  bool
	keysOnly bool
}

func getCommand(c *shell.Console) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use: "get KEY", Short: "Show a key or a range of keys, with values", Args: shell.Arguments(cobra.ExactArgs(1)),
		Long: `Show the value of a key, or a range of keys with their values: with --prefix those that begin with
the key, with --to those from the key to another one, which is not among them. Keys and values are
shown as text with escapes, and as a tuple where they are one; --json also has their bytes in
hexadecimal. A key that does not exist gives the exit code 4, an empty range no line.
` + keytext.About + "\n" + database.About,
		Example: "  kazahana kv get '(21, \"R\", \"User\", 42)' --db data\n  kazahana kv get '(21, \"I\")' --prefix --limit 10\n  kazahana kv get '' --to '\\xff' --keys-only --limit 0 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return get(cmd, c, args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.prefix, "prefix", false, "all keys that begin with the key")
	flags.StringVar(&f.to, "to", "", "all keys from the key to this `key`, which is not among them")
	flags.IntVar(&f.limit, "limit", 100, "`number` of keys to show at most; 0: all")
	flags.BoolVar(&f.reverse, "reverse", false, "from the end of the range backward")
	flags.BoolVar(&f.keysOnly, "keys-only", false, "leave the values out")
	return cmd
}

func get(cmd *cobra.Command, c *shell.Console, text string, f getFlags) error {
	r, err := f.keyRange(cmd, text)
	if err != nil {
		return err
	}
	show := func(p kv.KeyValue) error { return c.Write(newPair(p.Key, p.Value, f.keysOnly)) }
	return database.ReadKeys(cmd, func(ctx context.Context, db kv.Database) error {
		if f.prefix || cmd.Flags().Changed("to") {
			return eachPair(ctx, db, r, f.limit, f.reverse, show)
		}
		return getOne(ctx, db, r.Begin, show)
	})
}

// keyRange returns the keys that the flags name; without a range, the key as its
// beginning.
func (f *getFlags) keyRange(cmd *cobra.Command, text string) (r kv.KeyRange, err error) {
	switch to := cmd.Flags().Changed("to"); {
	case f.prefix && to:
		return r, shell.Misuse(cmd, errors.New("--prefix and --to exclude each other"))
	case f.limit < 0:
		return r, shell.Misuse(cmd, errors.New("--limit: it must not be negative"))
	}
	if r.Begin, err = keytext.Parse(text); err != nil {
		return r, shell.Invalid(err)
	}
	if f.prefix {
		r = kv.PrefixRange(r.Begin)
	} else if r.End, err = keytext.Parse(f.to); err != nil {
		return r, shell.Invalid(fmt.Errorf("--to: %w", err))
	}
	if string(r.End) > systemKeys {
		r.End = []byte(systemKeys)
	}
	return r, nil
}

// systemKeys is the end of the keys that programs may use.
const systemKeys = "\xff"

// errNoKey says that a key does not exist.
var errNoKey = errors.New("there is no such key")

func getOne(ctx context.Context, db kv.Database, key []byte, show func(kv.KeyValue) error) error {
	var value []byte
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		value, err = tx.Get(key).Get(ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case value == nil:
		return database.Missing(fmt.Errorf("%w: %s", errNoKey, keytext.Format(key)))
	}
	return show(kv.KeyValue{Key: key, Value: value})
}

// pairsPerRead is how many pairs one transaction reads: at most 100 kB each, so
// 10 MB.
const pairsPerRead = 100

// eachPair calls do with the pairs of a range, at most limit of them; 0 is all.
// It reads in several transactions, so that a long listing is neither too old nor large in
// memory. They see the same data, because only this process has the folder open, and it
// does not write.
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
