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
	"github.com/kazahana-db/kazahana/persistable"
)

func clearCommand(c *shell.Console) *cobra.Command {
	var (
		f   rangeFlags
		dir string
	)
	cmd := &cobra.Command{
		Use: "clear [KEY]", Short: "Clear a key, or a range of keys", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Clear a key, or with --prefix, --from or --to a range of keys, of a directory or of the database. The
command shows how many keys there are with how many bytes, and asks. Clearing what is not there is no
error.

The keys of records and indexes belong together: a record is removed by kazahana record rm, a directory by
kazahana dir rm.
` + aboutKeys,
		Example: "  kazahana kv clear '(\"cache\", 7)' --dir app --db data\n  kazahana kv clear --prefix '(\"cache\")' --dir app --db data --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := parseClear(cmd, args, &f)
			if err != nil {
				return err
			}
			var (
				p    *place
				done clearResult
			)
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				if p, err = openPlace(ctx, cmd, db, dir); err != nil {
					return err
				}
				if done, err = countKeys(ctx, p, p.keys(r)); err != nil || done.Keys == 0 {
					return err
				}
				return c.Confirm(cmd, done.describe(), "Clear them?")
			})
			if err != nil {
				return err
			}
			if done.Keys == 0 {
				return c.Write(done)
			}
			return database.WriteKeys(cmd, func(ctx context.Context, db kv.Database) error {
				if err := p.clear(ctx, db, p.keys(r)); err != nil {
					return err
				}
				return c.Write(done)
			})
		},
	}
	f.add(cmd)
	addDir(cmd, &dir)
	shell.AddYes(cmd)
	return cmd
}

// parseClear returns the range to clear: there is no default, which would be all keys.
func parseClear(cmd *cobra.Command, args []string, f *rangeFlags) (span, error) {
	switch {
	case len(args) == 1 && f.given(cmd):
		return span{}, shell.Misuse(cmd, errors.New("give either a key or --prefix, --from and --to"))
	case len(args) == 1:
		key, err := keytext.Parse(args[0])
		if err != nil {
			return span{}, shell.Invalid(err)
		}
		return span{from: append([]byte{}, key...), to: kv.Successor(key)}, nil
	case f.given(cmd):
		return f.parse(cmd)
	}
	return span{}, shell.Misuse(cmd, errors.New("say what to clear: a key, --prefix, --from or --to"))
}

// mostCounted is how many keys are counted before they are cleared.
const mostCounted = 100_000

// countKeys reads what is in a range.
func countKeys(ctx context.Context, p *place, r kv.KeyRange) (n clearResult, err error) {
	if string(r.Begin) >= string(r.End) {
		return n, shell.Invalid(fmt.Errorf("the range from %s to %s is empty, or of keys of the system", keytext.Format(r.Begin), keytext.Format(r.End)))
	}
	err = eachPair(ctx, p.db.Engine(), r, mostCounted+1, false, func(found kv.KeyValue) error {
		if n.Keys++; n.Keys > mostCounted {
			n.Keys, n.AtLeast = mostCounted, true
			return nil
		}
		n.Bytes += int64(len(found.Key) + len(found.Value))
		shown, err := p.show(ctx, found, showOptions{})
		if n.Keys == 1 {
			n.first = shown
		}
		n.last = shown
		return err
	})
	if err == nil && n.AtLeast {
		err = p.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
			n.Bytes, err = tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
			return err
		})
	}
	return n, err
}

// clearResult is what was in a range that was cleared.
type clearResult struct {
	Keys    int64 `json:"keys"`
	Bytes   int64 `json:"bytes"`             // of keys and values; estimated if the keys were not counted to the end
	AtLeast bool  `json:"atLeast,omitempty"` // there were more keys than were counted

	first, last pair
}

func (n clearResult) describe() []string {
	lines := []string{n.text("", " in all")}
	for i, p := range []pair{n.first, n.last} {
		if i == 1 && n.Keys == 1 {
			break
		}
		key := p.OwnTuple
		if key == "" {
			key = p.own
		}
		text := "  " + []string{"first", "last"}[i] + " " + key
		if p.Directory != "" {
			text += " in " + p.Directory
		}
		lines = append(lines, text)
	}
	return lines
}

func (n clearResult) text(verb, end string) string {
	most := ""
	if n.AtLeast {
		most = "more than "
	}
	keys := "keys"
	if n.Keys == 1 {
		keys = "key"
	}
	return fmt.Sprintf("%s%s%d %s, %s%s", verb, most, n.Keys, keys, shell.Size(n.Bytes), end)
}

// Lines implements [shell.Result].
func (n clearResult) Lines() []string { return []string{n.text("cleared ", "")} }
